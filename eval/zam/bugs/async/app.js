// Items worked on one after the other, as in issue 883 of async.
function addUp(count) {
  return new Promise(function (resolve, reject) {
    var items = [], sum = 0;
    for (var i = 0; i < count; i++) {
      items.push(i);
    }
    async.eachSeries(items, function addItem(item, callback) {
      for (var i = 0; i < 2000; i++) {
        sum += item % (i + 1);
      }
      callback();
    }, function done(error) {
      document.getElementById("sum").textContent = "" + sum;
      if (error) {
        reject(error);
      } else {
        resolve();
      }
    });
  });
}

var count = 10;

openPage(function build(settings) {
  count = settings.items;
});
onClick("run", function runSeries() {
  return addUp(count);
});
