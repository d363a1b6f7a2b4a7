"""The server keys that have an effect in this broker, each with one sentence about it.

When you implement a key, add it here. ``docs/configuration.md`` and the log line at start about keys without effect are
made from this table, and DescribeConfigs returns the sentence as documentation. A test compares the table with the keys
that the code reads.
"""

from .own_keys import OWN_KEYS

EFFECTIVE: dict[str, str] = {
    # the node and its listeners
    "node.id": "The id of this broker; 1 unless set. The same as broker.id.",
    "broker.id": "The same as node.id.",
    "process.roles": "broker,controller (or empty): this broker is its own controller. broker: it joins Kafka's.",
    "listeners": "The addresses to listen on: NAME://host:port, ... An empty host is every interface, port 0 any free"
    " port.",
    "advertised.listeners": "The addresses that clients get for each listener; unless set, the addresses listened on.",
    "listener.security.protocol.map": "The security protocol of each listener name: PLAINTEXT, SSL, SASL_PLAINTEXT or"
    " SASL_SSL.",
    "controller.listener.names": "Listeners that are not advertised to clients. The broker does not listen on them.",
    "controller.quorum.voters": "The controllers to join: id@host:port, ... Otherwise: this node alone.",
    "controller.quorum.bootstrap.servers": "The controllers to join: host:port, ... Otherwise: one address.",
    "inter.broker.listener.name": "The listener that other brokers would use; it must be advertised.",
    # connections
    "connections.max.idle.ms": "A connection without traffic for this long is closed; -1: never.",
    "max.connections": "The maximum number of open connections; with listener.name.<listener>. of that listener.",
    "max.connection.creation.rate": "The maximum number of new connections a second; with listener.name.<listener>. of"
    " that listener. Beyond it they are accepted later.",
    "max.connections.per.ip": "The maximum number of open connections from one address.",
    "max.connections.per.ip.overrides": "address:number, ... These addresses have this limit instead of"
    " max.connections.per.ip.",
    "socket.request.max.bytes": "The largest request. A larger one closes the connection before memory is allocated for"
    " it.",
    "queued.max.request.bytes": "The maximum size of all requests together that are received and not answered. Beyond"
    " it connections are not read until some are answered; -1: no limit. At least socket.request.max.bytes.",
    "fetch.max.bytes": "The maximum size of one Fetch response, whatever the client asks for.",
    "telemetry.max.bytes": "The maximum size of the metrics that a client pushes at once, compressed and decompressed.",
    "max.incremental.fetch.session.cache.slots": "The maximum number of fetch sessions.",
    # delegation tokens
    "delegation.token.secret.key": "The key of the tokens' HMACs, the same at all brokers and controllers. Without it"
    " there are no delegation tokens.",
    "delegation.token.max.lifetime.ms": "The maximum lifetime of a token from its creation; renewals do not extend it.",
    "delegation.token.expiry.time.ms": "How long a token is valid without being renewed.",
    "delegation.token.expiry.check.interval.ms": "How often expired tokens are removed. They can't be used before that"
    " either.",
    # TLS, also with listener.name.<listener>.
    "ssl.keystore.location": "The file with the private key and its certificates: PEM, PKCS12 or JKS.",
    "ssl.keystore.type": "Not needed: the format is recognised by the first bytes.",
    "ssl.keystore.password": "The password of a PKCS12 or JKS key store.",
    "ssl.keystore.key": "The private key (PKCS#8, PEM) itself instead of ssl.keystore.location.",
    "ssl.keystore.certificate.chain": "The certificates (PEM) of ssl.keystore.key, its own one first.",
    "ssl.key.password": "The password of the private key, if it is encrypted.",
    "ssl.truststore.location": "The file with the trusted certificates: PEM, PKCS12 or JKS; the system's unless set.",
    "ssl.truststore.type": "Not needed: the format is recognised by the first bytes.",
    "ssl.truststore.password": "The password of a PKCS12 or JKS trust store.",
    "ssl.truststore.certificates": "The trusted certificates (PEM) themselves instead of ssl.truststore.location.",
    "ssl.client.auth": "Whether clients must have a certificate: required, requested or none. A SASL_SSL"
    " listener reads only listener.name.<listener>.ssl.client.auth.",
    "ssl.enabled.protocols": "TLSv1.2, TLSv1.3 or both. Older ones are not supported.",
    "ssl.protocol": "Accepted; ssl.enabled.protocols decides.",
    "ssl.cipher.suites": "The cipher suites, by their IANA names; OpenSSL's defaults unless set. The suites of TLS 1.3"
    " are all or none, or AES-256 with others.",
    "ssl.principal.mapping.rules": "How the name in a client's certificate becomes its principal: DEFAULT or"
    " RULE:pattern/replacement/[LU], ...",
    "ssl.allow.dn.changes": "Whether a new certificate of a running listener may have another name.",
    "ssl.allow.san.changes": "Whether a new certificate of a running listener may lack alternative names.",
    # authentication (docs/security.md)
    "connection.failed.authentication.delay.ms": "How long the answer to a failed authentication waits. After ten"
    " failures of an address it doubles with each, up to 5 s.",
    "connections.max.reauth.ms": "How long a client may use a connection before it authenticates again; 0: no limit.",
    "sasl.enabled.mechanisms": "The SASL mechanisms of a listener: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.",
    "sasl.mechanism.inter.broker.protocol": "The mechanism with which this broker logs in at other brokers. Its own"
    " inter-broker listener must enable it.",
    "sasl.mechanism.controller.protocol": "The mechanism with which a broker of a cluster logs in at its controllers.",
    "sasl.login.callback.handler.class": "Kafka's class that gets the tokens with which this broker logs in at other"
    " nodes by OAUTHBEARER.",
    "sasl.login.connect.timeout.ms": "How long the token endpoint may take to accept a connection.",
    "sasl.login.read.timeout.ms": "How long the token endpoint may take to answer.",
    "sasl.oauthbearer.token.endpoint.url": "The URL from which this broker gets its tokens: file, http or https.",
    "sasl.oauthbearer.client.credentials.client.id": "The client id that this broker sends to the token endpoint.",
    "sasl.oauthbearer.client.credentials.client.secret": "The client secret that this broker sends to the token"
    " endpoint.",
    "sasl.oauthbearer.scope": "The scope of the tokens that this broker asks for.",
    "sasl.oauthbearer.jwks.endpoint.url": "The URL of the keys (JWKS) that verify OAUTHBEARER's tokens: file, http or"
    " https.",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "How often the keys are fetched again from an http or https URL.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "The pause after the first failed fetch of the keys; it doubles"
    " after each failure.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "How long a failed fetch of the keys is retried.",
    "sasl.oauthbearer.expected.audience": "A token's audience (aud) must be one of these. Unset: tokens with an"
    " audience are refused.",
    "sasl.oauthbearer.expected.issuer": "A token's issuer (iss) must be this one. Unset: any issuer.",
    "sasl.oauthbearer.sub.claim.name": "The claim of a token that names the client.",
    "sasl.oauthbearer.scope.claim.name": "The claim of a token with its scopes.",
    "sasl.oauthbearer.clock.skew.seconds": "How much the clocks of broker and issuer may differ.",
    "sasl.server.callback.handler.class": "For OAUTHBEARER, with the prefixes of listener and mechanism: Kafka's class"
    " that validates tokens by JWKS, or the one for tokens without a signature.",
    "sasl.server.max.receive.size": "The largest request of a client that has not authenticated.",
    "security.inter.broker.protocol": "Names the listener that other brokers would use, unless"
    " inter.broker.listener.name does.",
    # topics
    "auto.create.topics.enable": "Whether a topic is created when a client asks for its metadata.",
    "delete.topic.enable": "Whether topics may be deleted.",
    "num.partitions": "The number of partitions of a topic that is created without one.",
    "default.replication.factor": "The replication factor of a topic that is created without one.",
    # groups and their offsets
    "group.initial.rebalance.delay.ms": "How long the first members of an empty group wait for more members.",
    "group.min.session.timeout.ms": "The shortest session timeout that a member may ask for.",
    "group.max.session.timeout.ms": "The longest session timeout that a member may ask for.",
    "group.max.size": "The maximum number of members of a classic group.",
    "group.coordinator.rebalance.protocols": "Consumer groups are supported if the list contains consumer, streams"
    " groups if it contains streams.",
    "group.consumer.assignors": "The assignors of consumer groups: uniform, range. The first one is the default.",
    "group.consumer.max.size": "The maximum number of members of a consumer group.",
    "group.consumer.migration.policy": "Whether classic groups with members may become consumer groups, and the"
    " reverse.",
    "group.consumer.session.timeout.ms": "The session timeout of members of a consumer group.",
    "group.consumer.min.session.timeout.ms": "The least session timeout that a group may set for itself.",
    "group.consumer.max.session.timeout.ms": "The greatest session timeout that a group may set for itself.",
    "group.consumer.heartbeat.interval.ms": "How often members of a consumer group send heartbeats.",
    "group.consumer.min.heartbeat.interval.ms": "The least heartbeat interval that a group may set for itself.",
    "group.consumer.max.heartbeat.interval.ms": "The greatest heartbeat interval that a group may set for itself.",
    "group.consumer.assignment.interval.ms": "The least time between two assignments of a consumer group.",
    "group.consumer.min.assignment.interval.ms": "The least assignment interval that a group may set for itself.",
    "group.consumer.max.assignment.interval.ms": "The greatest assignment interval that a group may set for itself.",
    "group.consumer.regex.refresh.interval.ms": "How often regular expressions of subscriptions are matched again if"
    " there are no new topics.",
    "group.share.assignors": "The assignor of share groups: simple.",
    "group.share.max.size": "The maximum number of members of a share group.",
    "group.share.session.timeout.ms": "The session timeout of members of a share group.",
    "group.share.min.session.timeout.ms": "The least session timeout that a share group may set for itself.",
    "group.share.max.session.timeout.ms": "The greatest session timeout that a share group may set for itself.",
    "group.share.heartbeat.interval.ms": "How often members of a share group send heartbeats.",
    "group.share.min.heartbeat.interval.ms": "The least heartbeat interval that a share group may set for itself.",
    "group.share.max.heartbeat.interval.ms": "The greatest heartbeat interval that a share group may set for itself.",
    "group.share.assignment.interval.ms": "The least time between two assignments of a share group.",
    "group.share.min.assignment.interval.ms": "The least assignment interval that a share group may set for itself.",
    "group.share.max.assignment.interval.ms": "The greatest assignment interval that a share group may set for itself.",
    "group.share.max.share.sessions": "The maximum number of share sessions of this broker.",
    "group.share.delivery.count.limit": "How often a record of a share group is delivered at most.",
    "group.share.min.delivery.count.limit": "The least limit of deliveries that a share group may set for itself.",
    "group.share.max.delivery.count.limit": "The greatest limit of deliveries that a share group may set for itself.",
    "group.share.record.lock.duration.ms": "How long a member of a share group holds a record at most.",
    "group.share.min.record.lock.duration.ms": "The least lock duration that a share group may set for itself.",
    "group.share.max.record.lock.duration.ms": "The greatest lock duration that a share group may set for itself.",
    "group.share.partition.max.record.locks": "The maximum number of records of a share partition that are in flight.",
    "group.share.min.partition.max.record.locks": "The least number of record locks that a share group may set for"
    " itself.",
    "group.share.max.partition.max.record.locks": "The greatest number of record locks that a share group may set for"
    " itself.",
    "errors.deadletterqueue.auto.create.topics.enable": "Whether the broker creates topics for dead letters of share"
    " groups.",
    "errors.deadletterqueue.topic.name.prefix": "The names of topics for dead letters must begin so.",
    "group.share.initialize.retry.interval.ms": "How long the share coordinators may take to begin the state of new"
    " partitions, before they are asked again.",
    "group.streams.assignors": "The assignor of streams groups: sticky.",
    "group.streams.max.size": "The maximum number of members of a streams group.",
    "group.streams.session.timeout.ms": "The session timeout of members of a streams group.",
    "group.streams.min.session.timeout.ms": "The least session timeout that a streams group may set for itself.",
    "group.streams.max.session.timeout.ms": "The greatest session timeout that a streams group may set for itself.",
    "group.streams.heartbeat.interval.ms": "How often members of a streams group send heartbeats.",
    "group.streams.min.heartbeat.interval.ms": "The least heartbeat interval that a streams group may set for itself.",
    "group.streams.max.heartbeat.interval.ms": "The greatest heartbeat interval that a streams group may set for"
    " itself.",
    "group.streams.assignment.interval.ms": "The least time between two assignments of a streams group.",
    "group.streams.min.assignment.interval.ms": "The least assignment interval that a streams group may set for"
    " itself.",
    "group.streams.max.assignment.interval.ms": "The greatest assignment interval that a streams group may set for"
    " itself.",
    "group.streams.initial.rebalance.delay.ms": "How long a streams group without members waits for more of them.",
    "group.streams.num.standby.replicas": "The number of standby tasks of each task with state in a streams group.",
    "group.streams.max.standby.replicas": "The greatest number of standby tasks that a streams group may set for"
    " itself.",
    "group.streams.rack.aware.assignment.tags": "The client tags that members of a streams group should have; those"
    " without one are told.",
    "group.streams.task.offset.interval.ms": "How often members of a streams group report the offsets of their tasks.",
    "group.streams.min.task.offset.interval.ms": "The least such interval that a streams group may set for itself.",
    "group.streams.acceptable.recovery.lag": "What members of a streams group are told as the lag of a task that is up"
    " to date, in records.",
    "offset.metadata.max.bytes": "The longest metadata text of a committed offset.",
    "offsets.commit.timeout.ms": "How long a request of a group waits until its records are synced and replicated.",
    "request.timeout.ms": "How long a request of a transaction waits until its records are synced and replicated.",
    "offsets.retention.minutes": "How long the offsets of a group without members are kept.",
    "offsets.retention.check.interval.ms": "How often the broker looks for expired offsets.",
    "offsets.topic.num.partitions": "The number of partitions of __consumer_offsets; must not change after its"
    " creation.",
    "offsets.topic.segment.bytes": "The segment size of __consumer_offsets, set at its creation.",
    "offsets.topic.compression.codec": "The compression of the coordinator's records in __consumer_offsets.",
    "offsets.topic.replication.factor": "The replication factor of __consumer_offsets, set at its creation.",
    "transaction.max.timeout.ms": "The longest transaction timeout that a client may ask for.",
    "transactional.id.expiration.ms": "A transactional id that is unused for this long is removed.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often transactions beyond their timeout are"
    " aborted.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often the broker looks for expired transactional"
    " ids.",
    "transaction.partition.verification.enable": "Whether a transactional batch must belong to an open transaction.",
    "transaction.state.log.num.partitions": "The number of partitions of __transaction_state, set at its creation.",
    "transaction.state.log.replication.factor": "The replication factor of __transaction_state, set at its creation.",
    "transaction.state.log.segment.bytes": "The segment size of __transaction_state, set at its creation.",
    "transaction.state.log.min.isr": "min.insync.replicas of __transaction_state, set at its creation.",
    "share.coordinator.state.topic.num.partitions": "The number of partitions of __share_group_state, set at its"
    " creation.",
    "share.coordinator.state.topic.replication.factor": "The replication factor of __share_group_state, set at its"
    " creation.",
    "share.coordinator.state.topic.segment.bytes": "The segment size of __share_group_state, set at its creation.",
    "share.coordinator.state.topic.min.isr": "min.insync.replicas of __share_group_state, set at its creation.",
    "share.coordinator.state.topic.compression.codec": "The number of the codec of the records in __share_group_state;"
    " 0: none.",
    "share.coordinator.state.topic.prune.interval.ms": "How often records that no share partition needs are deleted"
    " from __share_group_state.",
    "share.coordinator.snapshot.update.records.per.snapshot": "A snapshot of a share partition's state is written after"
    " this many updates.",
    "share.coordinator.cold.partition.snapshot.interval.ms": "How often snapshots are written of share partitions whose"
    " last one is older than this.",
    "share.coordinator.write.timeout.ms": "How long a change of a share partition's state waits until it is durable.",
    "max.request.partition.size.limit": "The maximum number of partitions in one DescribeTopicPartitions response.",
    "broker.heartbeat.interval.ms": "How often a broker of a cluster tells the controllers that it is alive.",
    "broker.session.timeout.ms": "A broker of a cluster stops its heartbeats if it has received no answer to its"
    " metadata fetches for this long. The controllers then fence it.",
    "replica.fetch.backoff.ms": "How long a follower waits before it fetches again after an error.",
    "replica.fetch.max.bytes": "The maximum bytes that a follower requests of one partition. A larger batch is sent"
    " whole.",
    "replica.fetch.min.bytes": "A leader waits for this many bytes before it answers a follower, for at most"
    " replica.fetch.wait.max.ms.",
    "replica.fetch.response.max.bytes": "The maximum bytes that a follower requests in one Fetch request.",
    "replica.fetch.wait.max.ms": "How long a leader waits at most for replica.fetch.min.bytes before it answers a"
    " follower.",
    "replica.lag.time.max.ms": "A follower that has not caught up for this long leaves the ISR.",
    "replica.socket.timeout.ms": "How long a follower waits for an answer of a leader.",
    "replication.quota.window.num": "The number of samples over which the rate of throttled replication is measured.",
    "replication.quota.window.size.seconds": "The length of one sample of replication.quota.window.num.",
    "quota.window.num": "The number of samples over which the rates of clients and addresses are measured.",
    "quota.window.size.seconds": "The length of one sample of quota.window.num, and the longest throttle time of"
    " request and connection quotas.",
    "controller.quota.window.num": "The number of samples over which the rate of a client's topic changes is measured.",
    "controller.quota.window.size.seconds": "The length of one sample of controller.quota.window.num.",
    "broker.rack": "The rack of this broker, as clients and replica.selector.class get it.",
    "replica.selector.class": "Unset, or org.apache.kafka.common.replica.RackAwareReplicaSelector: consumers are sent"
    " to an in-sync replica in their client.rack.",
    # directories
    "log.dir": "The log directory if log.dirs is not set; ./data unless set.",
    "log.dirs": "The log directories, separated by commas.",
    "cordoned.log.dirs": "The log directories that get no new partitions; * for all.",
    "log.dir.failure.timeout.ms": "A broker of a cluster stops if it could not report a failed log directory to the"
    " controllers for this long.",
    "num.replica.alter.log.dirs.threads": "How many partitions move to another directory at a time; unless set, the"
    " number of directories.",
    "num.recovery.threads.per.data.dir": "How many logs of one directory are recovered at a time after a crash.",
    # the metadata log
    "metadata.log.dir": "The directory of the metadata log; the first of log.dirs unless set.",
    "metadata.log.max.record.bytes.between.snapshots": "A snapshot of the metadata is written after this many bytes.",
    "metadata.log.max.snapshot.interval.ms": "A snapshot is written after this time if anything changed; 0: never.",
    "metadata.log.segment.bytes": "The metadata log starts a new segment at this size.",
    "metadata.log.segment.ms": "The metadata log starts a new segment at this age.",
    "internal.metadata.log.segment.bytes": "metadata.log.segment.bytes without its lower limit, for tests.",
    "metadata.max.retention.bytes": "Above this size old snapshots are deleted, and the log before the next one; -1:"
    " never.",
    "metadata.max.retention.ms": "Snapshots older than this are deleted, and the log before the next one; -1: never.",
    # the defaults of topic configs
    "log.segment.bytes": "A new segment starts when the active one has this size.",
    "log.roll.ms": "A new segment starts when the active one has this age; log.roll.hours unless set.",
    "log.roll.hours": "log.roll.ms in hours.",
    "log.roll.jitter.ms": "A random time up to this is subtracted from log.roll.ms, so that segments do not roll"
    " together.",
    "log.roll.jitter.hours": "log.roll.jitter.ms in hours.",
    "log.retention.ms": "Segments older than this are deleted; -1: never; log.retention.minutes unless set.",
    "log.retention.minutes": "log.retention.ms in minutes; log.retention.hours unless set.",
    "log.retention.hours": "log.retention.ms in hours.",
    "log.retention.bytes": "The oldest segments of a partition are deleted above this size; -1: never.",
    "log.cleanup.policy": "delete, compact or both.",
    "log.cleaner.delete.retention.ms": "How long compaction keeps a tombstone.",
    "log.cleaner.min.compaction.lag.ms": "The minimum time that a record stays uncompacted.",
    "log.cleaner.max.compaction.lag.ms": "The maximum time that a record stays uncompacted.",
    "log.cleaner.min.cleanable.ratio": "A log is compacted when more than this share of it is uncompacted.",
    "log.cleaner.enable": "Whether compacted topics are cleaned. If false, their retention does nothing either.",
    "log.cleaner.threads": "How many partitions are cleaned at a time.",
    "log.cleaner.backoff.ms": "How long the cleaner waits if there is nothing to clean; at least 100.",
    "log.cleaner.dedupe.buffer.size": "The memory for the keys of a cleaning, shared by the threads; each key takes 24"
    " bytes.",
    "log.cleaner.io.buffer.load.factor": "The share of log.cleaner.dedupe.buffer.size that is used.",
    "log.cleaner.io.buffer.size": "The memory for the I/O buffers of the cleaner, shared by the threads: half for"
    " reading, half for writing.",
    "log.cleaner.io.max.bytes.per.second": "The maximum rate of reads and writes of the cleaner, shared by the"
    " threads.",
    "log.index.size.max.bytes": "The largest size of an index file.",
    "log.index.interval.bytes": "An index entry is written after this many bytes.",
    "log.flush.interval.messages": "A log is flushed to disk after this many records.",
    "log.flush.interval.ms": "A log is flushed to disk after this time; log.flush.scheduler.interval.ms unless set.",
    "log.flush.scheduler.interval.ms": "The default of log.flush.interval.ms.",
    "log.flush.offset.checkpoint.interval.ms": "How often the checkpoint of recovery points is written.",
    "log.flush.start.offset.checkpoint.interval.ms": "How often the checkpoint of log start offsets is written.",
    "log.initial.task.delay.ms": "How long after a start the first retention check and the first checkpoints come.",
    "log.retention.check.interval.ms": "How often the broker looks for segments to delete.",
    "producer.id.expiration.ms": "The state of an idempotent producer (its sequence numbers) is removed if it writes"
    " nothing for this long.",
    "log.segment.delete.delay.ms": "How long a deleted segment's files stay under the suffix .deleted.",
    "log.preallocate": "Whether the file of a new segment is allocated in full size.",
    "log.message.timestamp.type": "CreateTime keeps the producer's timestamp; LogAppendTime sets the broker's.",
    "log.message.timestamp.before.max.ms": "How far a record's timestamp may be before the broker's clock.",
    "log.message.timestamp.after.max.ms": "How far a record's timestamp may be after the broker's clock.",
    "message.max.bytes": "The largest record batch.",
    "max.decompressed.message.bytes": "The largest record of a compressed batch; those of other batches are not"
    " limited.",
    "min.insync.replicas": "How many in-sync replicas acks=all requires; at most the number of replicas.",
    "compression.type": "The codec of stored batches; producer keeps the producer's.",
    "compression.gzip.level": "The level of gzip, if compression.type is gzip.",
    "compression.lz4.level": "The level of lz4, if compression.type is lz4.",
    "compression.zstd.level": "The level of zstd, if compression.type is zstd.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may become leader.",
} | {key: facts["what"] for key, facts in OWN_KEYS.items()}

DYNAMIC_EFFECTIVE: dict[str, str] = {
    "follower.replication.throttled.rate": "The maximum rate at which this broker copies replicas that are throttled"
    " and out of sync.",
    "leader.replication.throttled.rate": "The maximum rate at which throttled followers that are out of sync copy from"
    " this broker.",
    "replica.alter.log.dirs.io.max.bytes.per.second": "The maximum rate of all copies between log directories.",
}
"""Keys with an effect that exist only as dynamic configs, not in a file."""
