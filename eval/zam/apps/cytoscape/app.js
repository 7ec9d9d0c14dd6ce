// A graph that grows, is arranged again, and whose nodes are ranked.
var graph;

function elements(from, count) {
  var made = [];
  for (var i = from; i < from + count; i++) {
    made.push({ data: { id: "n" + i, label: words(1) } });
    if (i > 0) {
      made.push({ data: { id: "e" + i, source: "n" + i, target: "n" + chance(i) } });
    }
  }
  return made;
}

function arrange() {
  graph.layout({ name: "breadthfirst", animate: false }).run();
}

function growGraph() {
  graph.add(elements(graph.nodes().length, 120));
  arrange();
}

function rankNodes() {
  var rank = graph.elements().pageRank();
  graph.nodes().forEach(function (node) {
    node.style("width", 10 + 2000 * rank.rank(node));
  });
  var central = graph.elements().closenessCentralityNormalized();
  document.title = "closeness " + central.closeness("#n0");
}

openPage(function build(settings) {
  graph = cytoscape({
    container: document.getElementById("graph"), elements: elements(0, settings.nodes), layout: { name: "cose", animate: false, numIter: 60, randomize: false },
    style: [{ selector: "node", style: { label: "data(label)" } }, { selector: "node[id = 'n3']", style: { "background-color": "red" } }]
  });
});
onClick("grow", growGraph);
onClick("arrange", function arrangeAgain() {
  graph.layout({ name: "concentric", animate: false }).run();
});
onClick("rank", rankNodes);
