// A listing with a long class name as a generic, as in issue 1031 of highlight.js.
function listing(fields) {
  var text = "public class Shop {\n";
  for (var i = 0; i < fields; i++) {
    text += "  private " + (i % 4 ? "int" : "List<" + "SomeVeryLongClassName".slice(0, 18 + (i % 3)) + ">") + " field" + i + "; // " + words(3) + "\n";
  }
  return text + "}\n";
}

function show() {
  var code = document.getElementById("listing");
  code.textContent = listing(60);
  hljs.highlightBlock(code);
}

openPage(function build(settings) {
  hljs.configure(settings);
});
onClick("show", show);
