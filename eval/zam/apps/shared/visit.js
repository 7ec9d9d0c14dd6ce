// What all pages share: data that is the same at every visit, settings that are asked for, work that is put off.
var visit = { steps: 0, errors: [] };

window.addEventListener("error", function (event) {
  visit.errors.push(String(event.message));
});
window.addEventListener("unhandledrejection", function (event) {
  visit.errors.push(String(event.reason));
});

var chanceState = 20180701;

function chance(below) {
  chanceState = (Math.imul(chanceState, 1103515245) + 12345) & 0x7fffffff;
  return chanceState % below;
}

var WORDS = ("time line call tree node path cause slow fast page script event frame paint style layout " +
  "sample match order cost share noise graph root leaf name file line run pair").split(" ");

function words(count) {
  var chosen = [];
  for (var i = 0; i < count; i++) {
    chosen.push(WORDS[chance(WORDS.length)]);
  }
  return chosen.join(" ");
}

async function loadSettings() {
  var reply = await fetch("settings.json" /*zam:fetch*/);
  return reply.json();
}

async function putOff() {
  await new Promise(function (resolve) {
    setTimeout(resolve, 20 /*zam:timer*/);
  });
}

// Calls the page's handler on clicks, one at a time, and counts what is done.
function onClick(id, handler) {
  document.getElementById(id).addEventListener("click", async function handleClick() {
    await putOff();
    await handler();
    visit.steps++;
  });
}

async function openPage(build) {
  var settings = await loadSettings();
  await build(settings);
  visit.steps++;
}
