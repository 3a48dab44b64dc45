"""Who loads a Lustre file system, over HTTP.

================ ====================================================================
`asked`          how a time and a filter are written in a request
`forms`          the forms of the answers
`paths`          the paths below ``/lustre/v1``
`answers`        answers of the store in these forms
`access`         who may see it
`app`            the application
`exporter`       ``/metrics``
`remote_write`   the same, sent to a Prometheus
`serve`          sockets and the process
================ ====================================================================
"""
