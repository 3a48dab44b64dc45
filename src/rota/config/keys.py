"""Names of the keys that slurm.conf may have outside node and partition lines, old ones included.

Collected from the manual pages of Slurm 22.05 and newer; used only to tell a mistyped key from one that rota leaves be.
"""

from __future__ import annotations

KNOWN_KEYS = frozenset(
    """
    AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
    AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES
    AccountingStorageType AccountingStorageUser AccountingStoreFlags AcctGatherEnergyType AcctGatherFilesystemType
    AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters
    AuthAltTypes AuthInfo AuthType BackupAddr BackupController BatchStartTimeout BcastAddr BcastExclude
    BcastParameters BurstBuffer BurstBufferType CacheGroups CertgenType CertmgenType CertmgrType CgroupPlugin
    CheckpointType CliFilterPlugins ClusterName CommunicationParameters CompleteWait ControlAddr ControlMachine
    CoreSpecPlugin CpuFreqDef CpuFreqGovernors CrayType CredType CryptoType DataParserParameters DebugFlags
    DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort DefaultStorageType DefaultStorageUser
    DefCpuPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode DependencyParameters DisableRootJobs EioTimeout
    EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld ExtSensors ExtSensorsFreq ExtSensorsType
    FairShareDampeningFactor FastSchedule FederationParameters FirstJobId GetEnvTimeout GpuFreqDef GresTypes
    GroupUpdateForce GroupUpdateTime HashPlugin HealthCheckInterval HealthCheckNodeState HealthCheckProgram
    HttpParserType InactiveLimit InteractiveStepOptions JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType
    JobCheckpointDir JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPort JobCompType JobCompUser
    JobContainer JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate JobFileAppend JobRequeue
    JobSubmitPlugins KillOnBadExit KillWait LaunchParameters LaunchType Licenses LogTimeFormat MailDomain MailProg
    MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount MaxJobId MaxMemPerCPU MaxMemPerNode MaxNodeCount
    MaxStepCount MaxTasksPerNode MessageTimeout MetricsType MinJobAge MpiDefault MpiParams NamespaceType
    NodeFeaturesPlugins OverPartQOS OverTimeLimit PluginDir PlugStackConfig PowerParameters PowerPlugin
    PreemptExemptTime PreemptMode PreemptType PrEpParameters PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife
    PriorityFavorSmall PriorityFlags PriorityMaxAge PriorityParameters PrioritySiteFactorParameters
    PrioritySiteFactorPlugin PriorityType PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc
    PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES
    PrivateData ProctrackType Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld PropagatePrioProcess
    PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold
    ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvOverRun ResvProlog ReturnToService
    RoutePlugin SchedulerAuth SchedulerParameters SchedulerPort SchedulerRootFilter SchedulerTimeSlice SchedulerType
    ScronParameters SelectType SelectTypeParameters SlurmctldAddr SlurmctldDebug SlurmctldHost SlurmctldLogFile
    SlurmctldParameters SlurmctldPidFile SlurmctldPlugstack SlurmctldPort SlurmctldPrimaryOffProg
    SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdLogFile SlurmdParameters
    SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser SlurmSchedLogFile
    SlurmSchedLogLevel SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation StepdStackSize
    SuspendExcNodes SuspendExcParts SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters
    SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TLSType TmpFS TopologyParam TopologyPlugin
    TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UrlParserType UsePAM VSizeFactor Waittime
    WaitTime
    """.lower().split()
)
