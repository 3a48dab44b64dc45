"""Which jobs load a Lustre file system: its ``job_stats``, read, subtracted, kept and asked.

========================= =================================================================================
`rota.lustre.counters`    what is passed on between the others
`rota.lustre.sources`     where the text comes from: lctl, ssh, files
`rota.lustre.job_stats`   the text as entries of jobs, of every generation
`rota.lustre.layouts`     how the entries of one text look, learned, so that they are read at a stroke
`rota.lustre.job_ids`     ids as Lustre writes them, and as they are meant
`rota.lustre.deltas`      what each job did between two readings
`rota.lustre.clock`       when that was
`rota.lustre.metrics`     the five metrics, and the operations that they are made of
`rota.lustre.feed`        a source for the collector: what happened since it was last read
`rota.lustre.collector`   all sources read at the same moments, and written together
`rota.lustre.store`       what was done, in steps of ten seconds to a day
`rota.lustre.measures`    what can be asked for: the five metrics, and any operation
`rota.lustre.grouping`    by what it is put together
`rota.lustre.query`       questions and answers
`rota.lustre.labels`      what is known of jobs, kept in the store
`rota.lustre.rollups`     sums that only grow, for Prometheus
`rota.lustre.service`     these together
`rota.lustre.simulation`  a Lustre to try it on
========================= =================================================================================

Source of the format: the Lustre Operations Manual, "Job Statistics", and the outputs that its users have published.
"""
