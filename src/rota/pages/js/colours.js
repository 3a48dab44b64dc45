// One colour for each name, for as long as the name is among the first.

/** Places in the palette that can be told apart side by side; all others share a grey. */
const PLACES = [0, 1, 2, 3, 6, 7, 4];

class StickyColours {
  constructor() {
    this.slots = new Map();
  }

  /** Takes the names that are shown now, at most as many as there are colours: who had one keeps it. */
  give(names) {
    const slots = new Map(names.filter((one) => this.slots.has(one)).map((one) => [one, this.slots.get(one)]));
    const used = new Set(slots.values());
    const free = PLACES.map((_, slot) => slot).filter((slot) => !used.has(slot));
    for (const one of names) if (!slots.has(one)) slots.set(one, free.shift());
    this.slots = slots;
  }

  /** The custom property that has a name's colour. */
  property(name) {
    return this.slots.has(name) ? `--c${PLACES[this.slots.get(name)] + 1}` : "--rest";
  }
}
