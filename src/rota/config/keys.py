"""Names of the keys that slurm.conf may have, old ones included.

Collected from the manual pages of Slurm 22.05 and newer and by trying them on a real 22.05; used only to tell a
mistyped key from one that rota leaves be.
"""

from __future__ import annotations


def _by_lower(names: str) -> dict[str, str]:
    return {name.lower(): name for name in names.split()}


#: Outside the lines of several pairs: the keys as they are written, by lower-case key.
KNOWN_KEYS = _by_lower(
    """
    AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
    AccountingStorageLoc AccountingStorageParameters AccountingStoragePass AccountingStoragePort
    AccountingStorageTRES AccountingStorageType AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment
    AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType
    AcctGatherNodeFreq AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters AuthAltTypes AuthInfo
    AuthType BackupAddr BackupController BatchStartTimeout BcastAddr BcastExclude BcastParameters BurstBuffer
    BurstBufferParameters BurstBufferType CacheGroups CertgenParameters CertgenType CertmgenType CertmgrParameters
    CertmgrType CgroupPlugin CheckpointType CliFilterPlugins ClusterName CommunicationParameters CompleteWait
    ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CrayType CredType CryptoType
    DataParserParameters DebugFlags DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort
    DefaultStorageType DefaultStorageUser DefCpuPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode DependencyParameters
    DisableRootJobs EioTimeout EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld ExtSensors ExtSensorsFreq
    ExtSensorsType FairShareDampeningFactor FastSchedule FederationParameters FirstJobId GetEnvTimeout GpuFreqDef
    GresTypes GroupUpdateForce GroupUpdateTime HashPlugin HealthCheckInterval HealthCheckNodeState
    HealthCheckProgram HttpParserType InactiveLimit InteractiveStepOptions JobAcctGatherFrequency
    JobAcctGatherParams JobAcctGatherType JobCheckpointDir JobCompHost JobCompLoc JobCompParams JobCompPass
    JobCompPort JobCompType JobCompUser JobContainer JobContainerType JobCredentialPrivateKey
    JobCredentialPublicCertificate JobFileAppend JobRequeue JobSubmitPlugins KeepAliveTime KillOnBadExit KillWait
    LaunchParameters LaunchType Licenses LogTimeFormat MailDomain MailProg MaxArraySize MaxBatchRequeue MaxDBDMsgs
    MaxJobCount MaxJobId MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode MCSParameters
    MCSPlugin MessageTimeout MetricsType MinJobAge MpiDefault MpiParams NamespaceType NodeFeaturesPlugins
    OverPartQOS OverTimeLimit PluginDir PlugStackConfig PowerParameters PowerPlugin PreemptExemptTime PreemptMode
    PreemptType PrEpParameters PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags
    PriorityMaxAge PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType
    PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize
    PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData ProctrackType Prolog
    PrologEpilogTimeout PrologFlags PrologSlurmctld PropagatePrioProcess PropagateResourceLimits
    PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram
    ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvOverRun ResvProlog ReturnToService RoutePlugin
    SallocDefaultCommand SbcastParameters SchedulerAuth SchedulerParameters SchedulerPort SchedulerRootFilter
    SchedulerTimeSlice SchedulerType ScronParameters SelectType SelectTypeParameters SlurmctldAddr SlurmctldDebug
    SlurmctldHost SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPlugstack SlurmctldPort
    SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdLogFile
    SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser
    SlurmSchedLogFile SlurmSchedLogLevel SlurmUser SlurmVersion SrunEpilog SrunPortRange SrunProlog StateSaveLocation
    StepdStackSize SuspendExcNodes SuspendExcParts SuspendProgram SuspendRate SuspendTime SuspendTimeout
    SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TCPTimeout TLSParameters TLSType
    TmpFS TopologyParam TopologyPlugin TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout
    UrlParserType UsePAM VSizeFactor WaitTime X11Parameters
    """
)
_NODE_KEYS = _by_lower(
    """
    BcastAddr Boards CoreSpecCount CoresPerSocket CpuBind CPUs CPUSpecList Feature Features Gres MemSpecLimit
    NodeAddr NodeHostname NodeName Port Procs RealMemory Reason RestrictedCoresPerGPU Sockets SocketsPerBoard State
    ThreadsPerCore TmpDisk Topology TRESWeights Weight
    """
)
_PARTITION_KEYS = _by_lower(
    """
    AllocNodes AllowAccounts AllowGroups AllowQOS Alternate CpuBind Default DefaultTime DefCpuPerGPU DefMemPerCPU
    DefMemPerGPU DefMemPerNode DenyAccounts DenyQOS DisableRootJobs ExclusiveTopo ExclusiveUser GraceTime Hidden LLN
    MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU MaxMemPerNode MaxNodes MaxTime MinNodes Nodes OverSubscribe
    OverTimeLimit PartitionName PowerDownOnIdle PreemptMode Priority PriorityJobFactor PriorityTier QOS ReqResv
    ResumeTimeout RootOnly SelectTypeParameters Shared State SuspendTime SuspendTimeout Topology TRESBillingWeights
    """
)
#: Key that begins a line of several pairs, to the keys that may stand on it, as they are written, by lower-case key;
#: ``None``: rota reads none of them.
RECORD_KEYS: dict[str, dict[str, str] | None] = {
    "nodename": _NODE_KEYS,
    "downnodes": _by_lower("DownNodes Reason State"),
    "nodeset": _by_lower("Feature Nodes NodeSet"),
    "partitionname": _PARTITION_KEYS,
    "frontendname": None,
}
