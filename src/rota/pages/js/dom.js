// The page's elements.

const byId = (id) => document.getElementById(id);
