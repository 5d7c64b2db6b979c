import Testing
@Suite("A replication executor") struct ReplicationExecutorTests {}
