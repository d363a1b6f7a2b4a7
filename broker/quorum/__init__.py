"""What a broker of a cluster does with the controllers: follow their metadata log, register, send heartbeats, forward.

Source: KafkaRaftClient (as an observer), BrokerLifecycleManager, NodeToControllerChannelManager, ForwardingManager,
AssignmentsManager.
"""
