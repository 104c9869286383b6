// Runs before the first paint, or the page would flash in the wrong colours.
(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");
  var wanted = /[?&]theme=(dark|light)/.exec(location.search);
  if (wanted && wanted[1] === "dark") root.classList.add("dark");
})();
