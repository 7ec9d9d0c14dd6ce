// A page of program listings: some with a known language, some to guess.
function listing(language, lines) {
  var text = "";
  for (var i = 0; i < lines; i++) {
    var a = words(1), b = words(1);
    if (language === "javascript") {
      text += "function " + a + i + "(" + b + ") { // " + words(4) + "\n  return " + b + " + '" + words(2) + "' + " + i + ";\n}\n";
    } else if (language === "python") {
      text += "def " + a + i + "(" + b + "):\n    \"\"\"" + words(5) + "\"\"\"\n    return [" + b + " * " + i + " for x in range(" + i + ")]\n";
    } else if (language === "css") {
      text += "." + a + i + " > ." + b + ":hover { margin: " + i + "px; color: #ab" + (10 + i % 90) + "ef; }\n";
    } else {
      text += "<div class=\"" + a + "\" id=\"" + b + i + "\"><b>" + words(3) + "</b><!-- " + words(2) + " --></div>\n";
    }
  }
  return text;
}

function addListing(language, lines) {
  var pre = document.createElement("pre");
  var code = document.createElement("code");
  code.className = "language-" + language;
  code.textContent = listing(language, lines);
  pre.appendChild(code);
  document.getElementById("listings").appendChild(pre);
  return code;
}

function addAll(languages, lines) {
  languages.forEach(function (language) {
    hljs.highlightElement(addListing(language, lines));
  });
}

function guessAll() {
  ["javascript", "python"].forEach(function (language) {
    var code = addListing(language, 6);
    code.className = "";
    var result = hljs.highlightAuto(code.textContent, ["javascript", "python", "css", "xml", "java", "cpp"]);
    code.innerHTML = result.value;
  });
}

openPage(function build(settings) {
  addAll(settings.languages, 40);
});
onClick("more", function moreListings() {
  addAll(["javascript", "python", "css", "xml"], 60);
});
onClick("guess", guessAll);
