import Dispatch
import DocDBCore
import DocDBStorage
import DocDBSync
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A process that applies snapshots of a peer for as long as it lives: documents, what was told, and the cursor.
struct CrashingSubscriber {
    let path: String
    let seed: UInt64

    func run() throws {
        var random = SeededGenerator(seed: seed)
        let deadline = DispatchTime.now().uptimeNanoseconds + 20_000_000 + random.next() % 60_000_000
        Thread.detachNewThread {
            while DispatchTime.now().uptimeNanoseconds < deadline { sched_yield() }
            kill(getpid(), SIGKILL)
        }
        let replica = try StoreReplica(Store(path: path))
        var peer = PeerRecord(storeID: [UInt8](repeating: 1, count: 16))
        peer = try replica.read { try $0.peer(storeID: peer.storeID) } ?? peer
        peer = try replica.write { try $0.setPeer(peer) }
        while true {
            let number = (peer.cursor?.sequence ?? 0) + 1
            let remote = try remoteState(
                ["_id": .int(number), "n": .int(number)], replica, time: ReplicaClock.start + UInt64(number) << 16)
            peer.cursor = Cursor(
                incarnation: [UInt8](repeating: 1, count: 16), sequence: number,
                interestHash: StateDigest(high: 0, low: 0), epoch: 0)
            peer.toldCount = number
            let next = peer
            peer = try replica.write { writer in
                let reference = try writer.join(remote.state, id: remote.id, from: next.number, replica)
                try writer.setTold(peer: next.number, reference, testDigest(UInt64(number)))
                return try writer.setPeer(next)
            }
        }
    }
}

@Suite("A replica whose process is killed")
struct ReplicaCrashTests {
    @Test("holds documents, what was told and the cursor of the same snapshots", arguments: 0..<6)
    func survives(seed: UInt64) async throws {
        let place = ReplicaPlace()
        for round in UInt64(0)..<2 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = place.path as String, seed = (seed * 10 + round) as UInt64] in
                try CrashingSubscriber(path: path, seed: seed).run()
            }
        }
        let replica = try place.open()
        let comment: Comment = "seed \(seed)"
        let peers = try replica.read { try $0.peers() }
        let cursor = peers.first?.cursor?.sequence ?? 0
        #expect(peers.first.map(\.currentCount) ?? 0 == cursor && peers.first.map(\.toldCount) ?? 0 == cursor, comment)
        #expect(try replica.store.statistics().collections.first?.documentCount ?? 0 == cursor, comment)
        #expect(try replica.read { $0.sequence } == cursor, comment)
        let findings = try replica.findings()
        #expect(findings.isEmpty, "seed \(seed): \(findings)")
    }
}
