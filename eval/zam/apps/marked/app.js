// Notes with a preview that follows what is typed.
function note(sections) {
  var text = "";
  for (var i = 0; i < sections; i++) {
    text += "## " + words(4) + "\n\n" + words(20) + " *" + words(2) + "* **" + words(2) + "** [" + words(1) + "](https://example.org/" + i + ")\n\n";
    text += "- " + words(5) + "\n- " + words(5) + "\n  1. " + words(3) + "\n\n> " + words(12) + "\n\n```js\n" + words(6) + "\n```\n\n";
  }
  return text;
}

function tables(count) {
  var text = "";
  for (var i = 0; i < count; i++) {
    text += "| a | b | c |\n|---|:-:|--:|\n";
    for (var row = 0; row < 12; row++) {
      text += "| " + words(2) + " | `" + words(1) + "` | " + row + " |\n";
    }
    text += "\n";
  }
  return text;
}

function preview() {
  document.getElementById("preview").innerHTML = marked.parse(document.getElementById("source").value);
}

function showNote(text) {
  document.getElementById("source").value = text;
  preview();
}

openPage(function build(settings) {
  document.getElementById("source").addEventListener("input", preview);
  showNote(note(settings.sections));
});
onClick("long", function longNote() {
  showNote(note(250));
});
onClick("tables", function manyTables() {
  showNote(tables(80));
});
