function customerOf(order) {
  return customers.find((customer) => customer.id === order.customer);
}

function matches(order, text) {
  return customerOf(order).name.toLowerCase().includes(text);
}

function compareByCustomer(one, other) {
  return customerOf(one).name.localeCompare(customerOf(other).name);
}

function renderRows(list) {
  const rows = list.slice(0, 200).map((order) => {
    const row = document.createElement("tr");
    for (const text of [order.number, customerOf(order).name, order.amount.toFixed(2)]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  });
  document.getElementById("rows").replaceChildren(...rows);
  document.getElementById("status").textContent = `${list.length} orders`;
}

let sorted = false;

function update() {
  const text = document.getElementById("filter").value.toLowerCase();
  let list = orders.filter((order) => matches(order, text));
  if (sorted) list = list.sort(compareByCustomer);
  renderRows(list);
}

document.getElementById("filter").addEventListener("input", update);
document.getElementById("sort").addEventListener("click", () => {
  sorted = true;
  update();
});
update();
