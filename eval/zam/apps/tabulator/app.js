// A table that is grouped, sorted and filtered.
var table;

function rows(count) {
  var made = [];
  for (var i = 0; i < count; i++) {
    made.push({ id: i, name: words(2), amount: chance(1000), kind: WORDS[chance(4)], rate: chance(100) / 10 });
  }
  return made;
}

function groupRows() {
  table.setGroupBy("kind");
}

function sortRows() {
  return table.setSort([{ column: "amount", dir: "desc" }, { column: "name", dir: "asc" }]);
}

function filterRows() {
  table.setFilter("name", "like", document.getElementById("filter-text").value);
}

openPage(function build(settings) {
  return new Promise(function (resolve) {
    table = new Tabulator("#table", {
      data: rows(settings.rows), height: 320, layout: "fitColumns",
      columns: [
        { title: "Name", field: "name", headerFilter: true }, { title: "Amount", field: "amount", sorter: "number" },
        { title: "Kind", field: "kind" }, { title: "Rate", field: "rate", formatter: "progress" }
      ]
    });
    table.on("tableBuilt", resolve);
  });
});
onClick("group", groupRows);
onClick("sort", sortRows);
onClick("filter", filterRows);
