// Runs before a document's own scripts: to the page this is a browser without service workers. One
// that is bypassed would still be fetched, installed and left to fill its caches during the visit.
delete Navigator.prototype.serviceWorker;
