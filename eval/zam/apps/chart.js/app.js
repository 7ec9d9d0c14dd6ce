// Two charts whose data grow.
var lines, bars;

function series(count, name) {
  var points = [];
  for (var i = 0; i < count; i++) {
    points.push(chance(1000));
  }
  return { label: name, data: points, borderColor: "#" + (100000 + chance(800000)) };
}

function labels(count) {
  var made = [];
  for (var i = 0; i < count; i++) {
    made.push(words(1) + i);
  }
  return made;
}

function addData() {
  lines.data.labels = labels(1500);
  lines.data.datasets = [series(1500, "a"), series(1500, "b"), series(1500, "c"), series(1500, "d")];
  lines.update();
  bars.data.labels = labels(120);
  bars.data.datasets.push(series(120, "more"));
  bars.update();
}

function hideSeries() {
  lines.hide(0);
  bars.hide(1);
  lines.resize(700, 350);
}

openPage(function build(settings) {
  lines = new Chart("lines", { type: "line", data: { labels: labels(settings.points), datasets: [series(settings.points, "a"), series(settings.points, "b")] }, options: { animation: false } });
  bars = new Chart("bars", { type: "bar", data: { labels: labels(60), datasets: [series(60, "c"), series(60, "d")] }, options: { animation: { duration: 200 } } });
});
onClick("add", addData);
onClick("hide", hideSeries);
