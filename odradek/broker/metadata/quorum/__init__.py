"""A broker's side of the controllers: it follows their metadata log, registers, sends heartbeats and forwards requests.

Source: KafkaRaftClient (as an observer), BrokerLifecycleManager, NodeToControllerChannelManager, ForwardingManager,
AssignmentsManager.
"""
