// Polygons with outlines, which can be switched to coordinates of 64 bits, as in issue 1126 of deck.gl. There is no map below.
var polygons = [];

function makePolygons(count) {
  var made = [];
  for (var i = 0; i < count; i++) {
    var x = -122.5 + chance(2000) / 10000, y = 37.7 + chance(1000) / 10000;
    var corners = 3 + chance(6), radius = 0.001 + chance(40) / 10000, ring = [];
    for (var corner = 0; corner <= corners; corner++) {
      var angle = 2 * Math.PI * (corner % corners) / corners;
      ring.push([x + radius * Math.cos(angle), y + radius * Math.sin(angle), 0]);
    }
    made.push(ring);
  }
  return made;
}

// Done once a frame is drawn.
function draw(fp64) {
  return new Promise(function (resolve) {
    var layer = new deck.PolygonLayer({
      id: "polygons",
      data: polygons,
      getPolygon: function getPolygon(polygon) { return polygon; },
      getFillColor: function getFillColor() { return [160, 0, 0]; },
      getLineColor: function getLineColor() { return [0, 0, 0, 255]; },
      getLineWidth: function getLineWidth() { return 20; },
      opacity: 0.8,
      pickable: true,
      fp64: fp64
    });
    var map = React.createElement(deck.default, {
      width: 800, height: 500, longitude: -122.4, latitude: 37.75, zoom: 11, pitch: 30, bearing: 0,
      layers: [layer],
      onAfterRender: function onAfterRender() { resolve(); }
    });
    ReactDOM.render(map, document.getElementById("map"));
  });
}

openPage(function build(settings) {
  polygons = makePolygons(settings.polygons);
  return draw(false);
});
onClick("fp64", function switchTo64Bits() {
  return draw(true);
});
