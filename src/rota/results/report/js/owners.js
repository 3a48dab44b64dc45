// Users and accounts: one name and one colour for each, on all of the page.

/** Shown in place of an empty name. */
const NAMELESS = "(none)";

/** Gives the name of each job's user or account from what columns.py has packed. */
function unpackNames({ texts, data }, size) {
  const numbers = numberReader(data)(size).map(unzigzag);
  return (job) => texts[numbers[job]] || NAMELESS;
}

/** Those who own jobs. The first in a fixed order have the colours, all others share a grey one. */
class Owners {
  /** `name` gives a job's owner; `first` are names to begin the order with, the others come by their processor hours. */
  constructor(jobs, name, first = []) {
    this.name = name;
    const work = new Map(first.map((one) => [one, Infinity]));
    for (let i = 0; i < jobs.count; i++) {
      const run = jobs.start[i] >= 0 && jobs.end[i] >= 0 ? jobs.end[i] - jobs.start[i] : 0;
      work.set(name(i), (work.get(name(i)) ?? 0) + run * jobs.procs[i]);
    }
    const order = [...work].sort(([, a], [, b]) => (a === b ? 0 : b - a));
    this.places = new Map(order.map(([one], place) => [one, place]));
  }

  /** The custom property that has an owner's colour. */
  property(owner) {
    return this.places.get(owner) < PLACES.length ? `--c${PLACES[this.places.get(owner)] + 1}` : "--rest";
  }

  /** How an owner's line is drawn: those without a colour of their own have one in common with another, and a dash. */
  line(owner) {
    const place = this.places.get(owner);
    return {
      stroke: () => cssColour(`--c${PLACES[place % PLACES.length] + 1}`),
      dash: DASHES[Math.floor(place / PLACES.length) % DASHES.length],
    };
  }

  /** How some jobs are painted: `of` gives a job's colour, `key` lists colours with what they mean. */
  paint(jobs) {
    const shown = [...new Set(jobs.map(this.name))];
    const coloured = shown.filter((one) => this.property(one) !== "--rest").sort((a, b) => this.places.get(a) - this.places.get(b));
    const colours = new Map(coloured.map((one) => [one, cssColour(this.property(one))]));
    const rest = cssColour("--rest");
    const key = coloured.map((one) => [colours.get(one), one]);
    return {
      of: (i) => colours.get(this.name(i)) ?? rest,
      key: shown.length > key.length ? [...key, [rest, "others"]] : key,
    };
  }
}

/** Whose a job is, as pairs of name and text. */
function ownerFacts({ user, account }, job) {
  return [["User", account ? `${user.name(job)} (account ${account.name(job)})` : user.name(job)]];
}

/** The owners of a page's jobs: users, and accounts if they are known. */
function ownersOf(jobs, names, shares) {
  const users = names.user ? unpackNames(names.user, jobs.count) : (i) => `user${jobs.user[i]}`;
  const charted = shares ? [shares.levels[shares.level], ...shares.levels].flatMap((level) => level.accounts) : [];
  const first = charted.map((place) => shares.accounts[place].name);
  return {
    user: new Owners(jobs, users),
    account: names.account ? new Owners(jobs, unpackNames(names.account, jobs.count), first) : null,
  };
}
