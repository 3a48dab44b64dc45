// Unpacks what planning.py has packed: who ran on which nodes, and the plan as it stood at some moments.

/** Sets of nodes, by number: flat lists place, processors, place, processors, … Number 0 is no set. */
function unpackSets({ count: size, numbers, data }) {
  const read = numberReader(data);
  const counts = read(size).map(unzigzag);
  const flat = read(numbers).map(unzigzag);
  const sets = [[]];
  let at = 0;
  for (const runs of counts) {
    const set = [];
    let place = 0;
    for (let run = 0; run < runs; run++, at += 3) {
      place += flat[at];
      for (let node = 0; node < flat[at + 1]; node++) set.push(place++, flat[at + 2]);
    }
    sets.push(set);
  }
  return sets;
}

/** The plans: `planned` are jobs by row, first in line first; `closed` are nodes that are no job's. */
function unpackMoments({ count: size, planned, reasons, closed, data }, sets) {
  const read = numberReader(data);
  const times = running(read(size));
  const [waiting, lengths] = [read(size).map(unzigzag), read(size).map(unzigzag)];
  const rows = running(read(planned));
  const [place, start, cpus, set, reason] = Array.from({ length: 5 }, () => read(planned).map(unzigzag));
  let at = 0;
  return Array.from(times, (time, i) => ({
    time,
    waiting: waiting[i],
    closed: closed[i].map(([what, begin, end, nodes]) => ({ what, begin, end: end ?? Infinity, nodes })),
    planned: Array.from({ length: lengths[i] }, () => {
      const k = at++;
      return { job: rows[k], place: place[k], start: time + start[k], cpus: cpus[k], nodes: sets[set[k]], reason: reasons[reason[k]] };
    }),
  }));
}

/** All of it: `nodes` as pairs of name and processors, `given` the set of each job. */
function unpackPlan({ nodes, most, moments, placed }) {
  const sets = unpackSets(placed.sets);
  return {
    nodes, most,
    given: Array.from(numberReader(placed.data)(placed.count), (number) => sets[unzigzag(number)]),
    moments: unpackMoments(moments, sets),
  };
}

/** Nodes as people name them: `n01–n04, n07`. */
function nodeNames(nodes, places) {
  const out = [];
  for (let i = 0; i < places.length; i++) {
    const from = i;
    while (places[i + 1] === places[i] + 1) i++;
    const [low, high] = [nodes[places[from]][0], nodes[places[i]][0]];
    if (i > from + 1) out.push(`${low}–${high}`);
    else out.push(...(i > from ? [low, high] : [low]));
  }
  return out.join(", ");
}
