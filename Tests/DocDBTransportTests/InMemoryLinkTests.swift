import DocDBTransport
import Testing

@Suite("InMemoryLink", .timeLimit(.minutes(10)))
struct InMemoryLinkTests {
    private func open(_ first: Recorder, _ second: Recorder) -> (InMemoryLink, InMemoryLink) {
        let (one, other) = InMemoryLink.pair(frameByteLimit: 1000, lowWaterByteCount: 100)
        one.start(first)
        other.start(second)
        return (one, other)
    }

    @Test("Frames travel whole and in order, both ways, also those sent before the other end has started")
    func roundTrip() async {
        let (one, other) = InMemoryLink.pair()
        let first = Recorder()
        let second = Recorder { link, frame in link.send(frame) }
        let frames = (0..<3000).map { patternedBytes($0 % 300, seed: UInt8(truncatingIfNeeded: $0)) }
        one.start(first)
        for frame in frames { one.send(frame) }
        #expect(second.current.frames.isEmpty)
        other.start(second)
        let state = await first.wait { $0.frames.count == frames.count }
        #expect(state.frames == frames)
        #expect(second.current.frames == frames)
        #expect(state.misplacedCount == 0 && second.current.misplacedCount == 0)
    }

    @Test("An end that does not receive leaves frames in the sender's queue, which drains once when it does again")
    func flowControl() async {
        let first = Recorder()
        let second = Recorder()
        let (one, other) = open(first, second)
        await second.wait { $0.openCount == 1 }
        other.setReceiving(false)
        for _ in 0..<10 { one.send(patternedBytes(50)) }
        // What comes back the other way has passed the same queue, so nothing is still under way.
        other.send([1])
        await first.wait { $0.frames.count == 1 }
        #expect(second.current.frames.isEmpty)
        #expect(one.queuedByteCount == 500)
        #expect(first.current.drainCount == 0)
        other.setReceiving(true)
        await second.wait { $0.frames.count == 10 }
        await first.wait { $0.drainCount > 0 }
        #expect(one.queuedByteCount == 0)
        #expect(first.current.drainCount == 1)
    }

    @Test("The other end hears the code and the text of a close, after all that was sent")
    func orderlyClose() async {
        let first = Recorder()
        let second = Recorder()
        let (one, other) = open(first, second)
        one.send([1])
        one.close(LinkCloseReason(code: 4321, text: "done"))
        one.send([2])
        let there = await second.wait { !$0.closes.isEmpty }
        #expect(there.frames == [[1]])
        #expect(there.closes == [LinkCloseReason(code: 4321, text: "done", isRemote: true)])
        let here = await first.wait { !$0.closes.isEmpty }
        #expect(here.closes == [LinkCloseReason(code: 4321, text: "done")])
        other.send([3])
        other.close(.normal())
        #expect(first.current.frames.isEmpty)
        #expect(first.current.closes.count == 1)
    }

    @Test("A frame beyond the limit of the receiving end closes the link")
    func frameLimit() async {
        let first = Recorder()
        let second = Recorder()
        let (one, other) = open(first, second)
        one.send(patternedBytes(1000))
        await second.wait { $0.frames.count == 1 }
        other.frameByteLimit = 2000
        one.send(patternedBytes(2000))
        await second.wait { $0.frames.count == 2 }
        one.send(patternedBytes(2001))
        let there = await second.wait { !$0.closes.isEmpty }
        #expect(there.closes == [.frameTooLarge(limit: 2000)])
        #expect(there.frames.count == 2)
        let here = await first.wait { !$0.closes.isEmpty }
        #expect(here.closes.first?.code == 1009)
    }

    @Test("An end that starts after the other has closed hears that it opened and closed")
    func lateStart() async {
        let (one, other) = InMemoryLink.pair()
        let first = Recorder()
        let second = Recorder()
        one.start(first)
        one.close(.goingAway())
        await first.wait { !$0.closes.isEmpty }
        other.start(second)
        let state = await second.wait { !$0.closes.isEmpty }
        #expect(state.openCount == 1)
        #expect(state.closes.first?.code == 1001)
    }

    @Test("A closed pair keeps neither its ends nor their handlers")
    func lifetime() async {
        weak var end: InMemoryLink?
        weak var handler: Recorder?
        do {
            let first = Recorder()
            let second = Recorder()
            let (one, _) = open(first, second)
            one.close(.normal())
            await first.wait { !$0.closes.isEmpty }
            await second.wait { !$0.closes.isEmpty }
            end = one
            handler = first
        }
        // The blocks that the queue still holds let go of the ends one after the other.
        while end != nil || handler != nil { await Task.yield() }
    }
}
