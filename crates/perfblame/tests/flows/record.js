// Notes what happens to a page, across its documents and frames: `seen()` in the top window has it all.
'use strict';

function note(text) {
  const line = `${window.name || 'top'}: ${text}`;
  if (top === window) keep(line);
  else top.postMessage({ seen: line }, '*');
}

function keep(line) {
  sessionStorage.seen = JSON.stringify([...seen(), line]);
}

function seen() {
  return JSON.parse(sessionStorage.seen ?? '[]');
}

if (top === window) {
  addEventListener('message', event => {
    if (event.data.seen) keep(event.data.seen);
  });
}

function details(event) {
  const target = event.composedPath()[0];
  const name = target.id || target.nodeName?.toLowerCase() || 'window';
  const held = ['alt', 'ctrl', 'meta', 'shift'].filter(key => event[`${key}Key`]).join('+');
  if (event instanceof MouseEvent) {
    const box = target.getBoundingClientRect();
    const x = Math.round(event.clientX - box.x);
    const y = Math.round(event.clientY - box.y);
    return `${name} button ${event.button} at ${x},${y} ${event.detail} ${held}`;
  }
  if (event instanceof KeyboardEvent) {
    const { key, code, keyCode, location, repeat } = event;
    return `${name} ${key} ${code} ${keyCode} ${location} ${repeat} ${held}`;
  }
  if (target.type === 'checkbox' || target.type === 'radio') return `${name} ${target.checked}`;
  return `${name} ${target.isContentEditable ? target.innerText : target.value}`;
}

for (const type of [
  'mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'keydown', 'keypress',
  'keyup', 'input', 'change', 'focusin', 'submit',
]) {
  addEventListener(type, event => {
    const trusted = event.isTrusted ? '' : ' (made by a script)';
    note(`${type} ${details(event)}${trusted}`.replace(/ +/g, ' ').trim());
  }, true);
}
