// What a replay looks for and does within a page. Runs in a world of its own: the page neither sees nor can change it.
(() => {
  'use strict';

  // The root that a search continues in.
  const inside = node => node.shadowRoot ?? node;

  function* elementsOf(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode()) yield walker.currentNode;
  }

  // Through all shadow roots, each before what follows its host.
  function* everyElement(root) {
    const open = [elementsOf(root)];
    while (open.length > 0) {
      const { done, value } = open[open.length - 1].next();
      if (done) {
        open.pop();
        continue;
      }
      yield value;
      if (value.shadowRoot) open.push(elementsOf(value.shadowRoot));
    }
  }

  function pierce(root, selector) {
    // A wrong selector is an error, also where there is nothing to match.
    document.createDocumentFragment().querySelector(selector);
    const found = [];
    for (const element of everyElement(root)) {
      if (element.matches(selector)) found.push(element);
    }
    return found;
  }

  function xpath(root, expression) {
    const document_ = root.ownerDocument ?? document;
    const result = document_.evaluate(
      expression, root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
    return Array.from({ length: result.snapshotLength }, (_, i) => result.snapshotItem(i));
  }

  // Elements whose text is their value.
  const hasValue = node =>
    node instanceof HTMLSelectElement || node instanceof HTMLTextAreaElement ||
    (node instanceof HTMLInputElement && !['checkbox', 'image', 'radio'].includes(node.type));

  const hasText = node => !['SCRIPT', 'STYLE'].includes(node.nodeName) && !document.head?.contains(node);

  // The innermost elements that contain a text, in the order of the document, and the whole text of the root. A host is
  // searched within its shadow root only and is no match itself; its text counts for those around it. This is how the
  // Recorder made sure that a text it recorded is unique.
  function withText(root, wanted, found) {
    if (!hasText(root)) return { text: '', matched: false };
    let text = '';
    let matched = false;
    const visit = (child, into) => {
      const inner = withText(child, wanted, into);
      text += inner.text;
      matched ||= inner.matched && into === found;
    };
    const shadow = root instanceof Element && root.shadowRoot;
    if (hasValue(root)) {
      text = root.value;
    } else {
      for (let child = root.firstChild; child; child = child.nextSibling) {
        if (child.nodeType === Node.TEXT_NODE) text += child.nodeValue ?? '';
        else if (child.nodeType === Node.ELEMENT_NODE) visit(child, shadow ? [] : found);
      }
      if (shadow) visit(shadow, found);
    }
    if (!matched && !shadow && root instanceof Element && text.includes(wanted)) {
      found.push(root);
      matched = true;
    }
    return { text, matched };
  }

  const search = {
    css: (root, selector) => [...root.querySelectorAll(selector)],
    pierce,
    xpath,
    text: (root, wanted) => {
      const found = [];
      withText(root, wanted, found);
      return found;
    },
  };

  // All that a chain of [kind, text] leads to from a root.
  function find(root, chain) {
    let found = [root];
    for (const [kind, text] of chain) {
      const next = new Set();
      for (const node of found) {
        const from = inside(node);
        if (from.querySelectorAll) for (const match of search[kind](from, text)) next.add(match);
      }
      found = [...next];
    }
    return found;
  }

  // The part of an element that can be seen, from 0 to 1.
  function seen(element) {
    const box = element instanceof SVGElement ? element.ownerSVGElement ?? element : element;
    return new Promise(resolve => {
      const observer = new IntersectionObserver(entries => {
        resolve(entries[0].intersectionRatio);
        observer.disconnect();
      });
      observer.observe(box);
    });
  }

  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));

  const edges = element => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x, y, width, height];
  };

  function isHidden(element) {
    const [, , width, height] = edges(element);
    const { visibility } = getComputedStyle(element);
    return width === 0 || height === 0 || visibility === 'hidden' || visibility === 'collapse';
  }

  const toMiddle = element =>
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });

  const size = () => {
    const { clientWidth, clientHeight } = document.documentElement;
    return [clientWidth, clientHeight];
  };

  // Gets an element ready to be acted upon: in view, at rest, enabled where that matters. Answers with what keeps it
  // from that, or with where it is.
  async function ready(element, mustBeEnabled, whole) {
    if (!element.isConnected) return { why: 'gone' };
    if (element.nodeType !== Node.ELEMENT_NODE) return { why: 'no element' };
    let part = await seen(element);
    if (!(part > 0)) {
      toMiddle(element);
      part = await seen(element);
      if (!(part > 0)) return { why: isHidden(element) ? 'hidden' : 'out of view' };
    }
    await frame();
    const before = edges(element);
    await frame();
    if (edges(element).some((edge, at) => edge !== before[at])) return { why: 'moving' };
    const controls = ['BUTTON', 'INPUT', 'SELECT', 'TEXTAREA', 'OPTION', 'OPTGROUP'];
    if (mustBeEnabled && controls.includes(element.nodeName) && element.hasAttribute('disabled')) {
      return { why: 'disabled' };
    }
    if (whole && part !== 1) toMiddle(element);
    const boxes = [...element.getClientRects()].map(box => [box.x, box.y, box.width, box.height]);
    return { boxes, size: size() };
  }

  // Where the content of a frame starts, seen from the document that has it.
  function origin(element) {
    if (element.getClientRects().length === 0) return null;
    const [x, y] = edges(element);
    const style = getComputedStyle(element);
    const whole = text => parseInt(text, 10) || 0;
    return {
      x: x + whole(style.paddingLeft) + whole(style.borderLeftWidth),
      y: y + whole(style.paddingTop) + whole(style.borderTopWidth),
      size: size(),
    };
  }

  // The element of the child frame at a place, in the order in which frames were added.
  function frameAt(place) {
    const wanted = window[place];
    if (place >= window.length || !wanted) return null;
    for (const element of everyElement(document)) {
      if (element.contentWindow === wanted) return element;
    }
    return null;
  }

  // Which document is here, and whether it is complete.
  const state = () => ({
    document: `${performance.timeOrigin} ${location.href}`,
    complete: document.readyState === 'complete',
  });

  const frames = () => [...everyElement(document)].filter(element => element.contentWindow);

  const told = ['text', 'url', 'tel', 'search', 'password', 'number', 'email'];

  // How a value gets into an element.
  function kindOf(element, value) {
    if (element instanceof HTMLSelectElement) {
      return [...element.options].some(option => option.value === value) ? 'list' : 'other list';
    }
    if (element instanceof HTMLTextAreaElement) return 'typed';
    if (element instanceof HTMLInputElement) {
      if (['checkbox', 'radio'].includes(element.type)) return 'checked';
      return told.includes(element.type) ? 'typed' : 'set';
    }
    if (['checkbox', 'radio', 'switch'].includes(element.getAttribute('role'))) return 'checked';
    return element.isContentEditable ? 'typed' : 'nothing';
  }

  const changed = element => {
    for (const name of ['input', 'change']) {
      element.dispatchEvent(new Event(name, { bubbles: true }));
    }
  };

  const text = element => (element.isContentEditable ? element.innerText : element.value);

  const setText = (element, value) => {
    if (element.isContentEditable) element.innerText = value;
    else element.value = value;
  };

  // Chooses in a list.
  function choose(list, value) {
    let taken = false;
    for (const option of list.options) {
      const wanted = option.value === value && (list.multiple || !taken);
      // A list that shows one value chooses another as soon as it has none, so this cannot be looked up afterwards.
      option.selected = wanted;
      taken ||= wanted;
    }
    changed(list);
  }

  // Clears what does not belong, puts the cursor behind what does, and answers with what is left to type.
  function prepareTyping(element, value) {
    const now = text(element);
    if (now === value) return '';
    const goesOn = now && value.startsWith(now);
    setText(element, '');
    if (goesOn) setText(element, now);
    element.focus();
    return goesOn ? value.slice(now.length) : value;
  }

  function setDirectly(element, value) {
    element.focus();
    if (text(element) === value) return;
    setText(element, value);
    changed(element);
  }

  function isChecked(element) {
    if (element.indeterminate || element.getAttribute('aria-checked') === 'mixed') return 'mixed';
    return Boolean(element.checked) || element.getAttribute('aria-checked') === 'true';
  }

  function haveAttributes(elements, attributes) {
    const wanted = Object.entries(attributes);
    return elements.every(element =>
      wanted.every(([name, value]) => element.getAttribute?.(name) === value));
  }

  return {
    find, inside, ready, origin, frameAt, frames, state, kindOf, choose, prepareTyping, setDirectly, isChecked,
    haveAttributes,
  };
})()
