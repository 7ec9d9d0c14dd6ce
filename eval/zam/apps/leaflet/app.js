// A map without tiles: shapes and markers.
var map, shapes;

function ring(size) {
  var x = chance(300) / 10 - 15, y = chance(300) / 10 - 15, points = [];
  for (var i = 0; i < size; i++) {
    var angle = (2 * Math.PI * i) / size;
    points.push([x + Math.cos(angle) * (1 + chance(100) / 60), y + Math.sin(angle) * (1 + chance(100) / 60)]);
  }
  points.push(points[0]);
  return points;
}

function features(count, size) {
  var made = [];
  for (var i = 0; i < count; i++) {
    made.push({ type: "Feature", properties: { name: words(2) }, geometry: { type: "Polygon", coordinates: [ring(size)] } });
  }
  return { type: "FeatureCollection", features: made };
}

function styleOf(feature) {
  return { color: feature.properties.name.length % 2 ? "#225588" : "#aa5533", weight: 1 };
}

function addShapes() {
  shapes.addData(features(150, 120));
}

function addMarkers() {
  for (var i = 0; i < 150; i++) {
    L.marker([chance(300) / 10 - 15, chance(300) / 10 - 15], { icon: L.divIcon({ html: words(1) }) }).bindPopup(words(5)).addTo(map);
  }
}

function zoomIn() {
  map.setZoom(map.getZoom() + 1, { animate: false });
  map.panBy([120, 60], { animate: false });
  map.fitBounds(shapes.getBounds(), { animate: false });
}

openPage(function build(settings) {
  map = L.map("map", { preferCanvas: false, zoomAnimation: false, fadeAnimation: false }).setView([0, 0], 4);
  shapes = L.geoJSON(features(settings.shapes, 60), { style: styleOf }).addTo(map);
});
onClick("shapes", addShapes);
onClick("markers", addMarkers);
onClick("zoom", zoomIn);
