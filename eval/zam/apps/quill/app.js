// A letter that is pasted into, formatted and exported.
var letter;

function paragraphs(count) {
  var html = "";
  for (var i = 0; i < count; i++) {
    html += i % 5 ? "<p>" + words(8) + " <b>" + words(2) + "</b> <i>" + words(3) + "</i></p>" : "<h2>" + words(3) + "</h2><ul><li>" + words(4) + "</li><li>" + words(4) + "</li></ul>";
  }
  return html;
}

function pasteText() {
  letter.clipboard.dangerouslyPasteHTML(0, paragraphs(60));
}

function formatText() {
  for (var i = 0; i < 25; i++) {
    letter.formatText(i * 40, 15, i % 2 ? "bold" : "italic", true);
  }
  letter.formatLine(0, 400, "align", "right");
}

function exportText() {
  document.getElementById("exported").textContent = JSON.stringify(letter.getContents()) + letter.getText();
}

openPage(function build(settings) {
  letter = new Quill("#letter", { theme: "snow", modules: { toolbar: [["bold", "italic"], [{ list: "bullet" }]] } });
  letter.clipboard.dangerouslyPasteHTML(paragraphs(settings.paragraphs));
});
onClick("paste", pasteText);
onClick("format", formatText);
onClick("export", exportText);
