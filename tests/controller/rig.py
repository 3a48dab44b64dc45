"""The machine on which the values of options and of updates were recorded."""

#: Its slurm.conf, as far as it matters.
CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PriorityType=priority/multifactor
AccountingStorageEnforce=associations,limits,qos
GresTypes=gpu
NodeName=n[01-04] CPUs=4 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Gres=gpu:2 Feature=virt
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=high Nodes=ALL MaxTime=60
PartitionName=short Nodes=n[01-02] MaxTime=10 DefaultTime=5
"""
