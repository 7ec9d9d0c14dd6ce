// A list of tasks with a filter.
var app;

function tasks(count) {
  var made = [];
  for (var i = 0; i < count; i++) {
    made.push({ id: i, title: words(3), done: chance(4) === 0, tags: words(2).split(" ") });
  }
  return made;
}

Vue.component("task-row", {
  props: ["task"],
  computed: {
    shown: function shown() {
      return this.task.title.toUpperCase();
    }
  },
  template: "<li :class='{ done: task.done }'><input type='checkbox' v-model='task.done'>{{ shown }} <em v-for='tag in task.tags'>{{ tag }}</em></li>"
});

function addMany() {
  app.tasks = app.tasks.concat(tasks(700).map(function (task) {
    task.id += 1000;
    return task;
  }));
  return app.$nextTick();
}

function finishSome() {
  app.tasks.forEach(function (task, i) {
    if (i % 3 === 0) {
      task.done = !task.done;
    }
  });
  return app.$nextTick();
}

function sortTasks() {
  app.tasks = app.tasks.slice().sort(function byTitle(a, b) {
    return a.title < b.title ? -1 : a.title > b.title ? 1 : a.id - b.id;
  });
  return app.$nextTick();
}

openPage(function build(settings) {
  app = new Vue({
    el: "#tasks",
    data: { tasks: tasks(settings.tasks), wanted: "" },
    computed: {
      left: function left() {
        return this.tasks.filter(function (task) {
          return !task.done;
        }).length;
      },
      visible: function visible() {
        var wanted = this.wanted;
        return this.tasks.filter(function (task) {
          return task.title.indexOf(wanted) >= 0;
        });
      }
    },
    template: "<div><input id='wanted' v-model='wanted'><p>{{ left }} left</p><ul><task-row v-for='task in visible' :key='task.id' :task='task'></task-row></ul></div>"
  });
});
onClick("many", addMany);
onClick("finish", finishSome);
onClick("sort", sortTasks);
