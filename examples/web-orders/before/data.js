// Customers and orders, the same on every load.
const customers = [];
const orders = [];

(function makeData() {
  let state = 42;
  const random = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state % below;
  };
  const syllables = ["ka", "ro", "mi", "len", "sto", "via", "dur", "eli", "no", "tas"];
  for (let id = 0; id < 3000; id++) {
    let name = "";
    for (let part = 0; part < 3; part++) name += syllables[random(syllables.length)];
    customers.push({ id: 7000 + id, name: name[0].toUpperCase() + name.slice(1) + " " + id });
  }
  for (let number = 0; number < 4000; number++) {
    orders.push({
      number,
      customer: 7000 + random(customers.length),
      amount: random(100000) / 100,
    });
  }
})();
