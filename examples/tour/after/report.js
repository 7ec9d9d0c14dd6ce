// Prints the ten best customers of a shop.

// Makes up the orders of a year, the same ones in every run.
function readOrders(count) {
  const orders = [];
  let state = 42;
  for (let i = 0; i < count; i++) {
    state = (state * 1103515245 + 12345) % 2147483648;
    orders.push({ customer: `customer-${state % 3000}`, cents: state % 9973, day: state % 365 });
  }
  return orders;
}

// The customers, each once, in the order of their first order.
function customersOf(orders) {
  const customers = [];
  for (const order of orders) {
    if (!customers.includes(order.customer)) customers.push(order.customer);
  }
  return customers;
}

function totalsOf(orders) {
  const totals = new Map();
  for (const order of orders) {
    totals.set(order.customer, (totals.get(order.customer) ?? 0) + order.cents);
  }
  return totals;
}

function format(cents) {
  const euros = cents / 100;
  return euros.toFixed(2);
}

function report(orders) {
  const totals = totalsOf(orders);
  const best = customersOf(orders).sort((a, b) => totals.get(b) - totals.get(a));
  return best.slice(0, 10).map((name) => `${name} ${format(totals.get(name))}`);
}

console.log(report(readOrders(400000)).join('\n'));
