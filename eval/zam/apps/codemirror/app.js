// An editor in which a program is loaded, edited and indented.
var editor;

function program(functions) {
  var text = "";
  for (var i = 0; i < functions; i++) {
    text += "function " + words(1) + i + "(a, b) {\n// " + words(6) + "\nif (a > " + i + ") {\nreturn b + \"" + words(3) + "\";\n}\nreturn a * b;\n}\n";
  }
  return text;
}

function loadProgram() {
  editor.setValue(program(400));
  editor.refresh();
}

function renameAll() {
  var lines = editor.lineCount();
  editor.operation(function renameLines() {
    for (var line = 0; line < lines; line += 4) {
      var text = editor.getLine(line);
      editor.replaceRange(text.replace(/time/g, "TIME"), { line: line, ch: 0 }, { line: line, ch: text.length });
    }
  });
}

function indentAll() {
  editor.operation(function indentLines() {
    for (var line = 0; line < 300; line++) {
      editor.indentLine(line);
    }
  });
}

openPage(function build(settings) {
  editor = CodeMirror(document.getElementById("editor"), { mode: "javascript", lineNumbers: true, value: program(settings.functions) });
  editor.on("change", function countLines() {
    document.title = editor.lineCount() + " lines";
  });
});
onClick("load", loadProgram);
onClick("replace", renameAll);
onClick("indent", indentAll);
