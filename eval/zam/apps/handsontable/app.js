// A sheet of rows that is loaded, sorted, filtered and typed into.
var sheet;

function rows(count) {
  var made = [];
  for (var i = 0; i < count; i++) {
    made.push([i, words(2), chance(1000), chance(2) === 1, words(1), chance(100) / 10]);
  }
  return made;
}

function loadRows() {
  sheet.loadData(rows(1500));
}

function sortRows() {
  sheet.getPlugin("columnSorting").sort({ column: 2, sortOrder: "asc" });
}

function filterRows() {
  var filters = sheet.getPlugin("filters");
  filters.addCondition(2, "gt", [500]);
  filters.filter();
}

openPage(function build(settings) {
  sheet = new Handsontable(document.getElementById("sheet"), {
    data: rows(settings.rows), colHeaders: ["no", "words", "number", "flag", "word", "rate"], rowHeaders: true,
    columns: [{ type: "numeric" }, {}, { type: "numeric" }, { type: "checkbox" }, {}, { type: "numeric" }],
    columnSorting: true, filters: true, dropdownMenu: true, height: 320, width: 700, licenseKey: "non-commercial-and-evaluation"
  });
});
onClick("load", loadRows);
onClick("sort", sortRows);
onClick("filter", filterRows);
