# Partitions that are down, inactive and drained.
scontrol update partitionname=low state=down
job DOWN -p low --wrap true
until_job DOWN PartitionDown
look down DOWN
look_partitions down
scontrol update partitionname=low state=inactive
until_job DOWN PartitionInactive
look inactive DOWN
look_partitions inactive
refused inactive "sbatch -p low --wrap true"
scontrol update partitionname=low state=drain
refused drained "sbatch -p low --wrap true"
scontrol update partitionname=low state=up
until_job DOWN COMPLETED
look ended DOWN
