import DocDBTransport
import DocDBCore
import Synchronization

/// Collects what a link tells, on the transport's thread, and has the engine take it in batches.
///
/// The link keeps it; it knows the engine only by the closure.
final class LinkInbox: LinkHandler {
    enum Item: Sendable {
        case opened
        case frame([UInt8])
        case drained
        case closed(LinkCloseReason)

        /// What it counts.
        var byteCount: Int {
            if case .frame(let bytes) = self { bytes.count + LinkInbox.frameOverheadByteCount } else { 0 }
        }
    }

    private struct State {
        var items: [Item] = []
        /// The first of them that was not taken.
        var first = 0
        var byteCount = 0
        var isScheduled = false
        var isPaused = false
    }

    /// What a frame costs beside its bytes, lest empty ones cost nothing.
    static let frameOverheadByteCount = 64

    private let state = Lock(State())
    /// Schedules a call of `take`.
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func linkDidOpen(_ link: any Link) { add(.opened, link) }
    func link(_ link: any Link, didReceive frame: [UInt8]) { add(.frame(frame), link) }
    func linkDidDrain(_ link: any Link) { add(.drained, link) }
    func link(_ link: any Link, didClose reason: LinkCloseReason) { add(.closed(reason), link) }

    private func add(_ item: Item, _ link: any Link) {
        let (mustWake, mustPause) = state.withLock { state -> (Bool, Bool) in
            state.items.append(item)
            state.byteCount += item.byteCount
            let mustWake = !state.isScheduled
            let mustPause = !state.isPaused && state.byteCount > ReplicationLimits.inboxByteCount
            state.isScheduled = true
            state.isPaused = state.isPaused || mustPause
            return (mustWake, mustPause)
        }
        if mustPause { link.setReceiving(false) }
        if mustWake { wake() }
    }

    /// Takes what has come, and lets a link that had to wait go on.
    ///
    /// - Parameter byteLimit: about how many bytes are taken.
    /// - Returns: also whether that was all; else it is to be called again, without being woken.
    func take(_ link: any Link, byteLimit: Int = .max) -> (items: [Item], isEmpty: Bool) {
        let (items, isEmpty, mustResume) = state.withLock { state -> ([Item], Bool, Bool) in
            guard state.byteCount > byteLimit else {
                defer {
                    state.items = []
                    state.first = 0
                    state.byteCount = 0
                    state.isScheduled = false
                    state.isPaused = false
                }
                let items = state.first == 0 ? state.items : Array(state.items[state.first...])
                return (items, true, state.isPaused)
            }
            let first = state.first
            var byteCount = 0
            while state.first < state.items.count, byteCount < byteLimit {
                byteCount += state.items[state.first].byteCount
                state.first += 1
            }
            let items = Array(state.items[first..<state.first])
            state.byteCount -= byteCount
            if state.first > state.items.count / 2 {
                state.items.removeFirst(state.first)
                state.first = 0
            }
            let mustResume = state.isPaused && state.byteCount <= ReplicationLimits.inboxByteCount
            if mustResume { state.isPaused = false }
            // What is left counts as told: nothing that comes wakes.
            state.isScheduled = true
            return (items, false, mustResume)
        }
        if mustResume { link.setReceiving(true) }
        return (items, isEmpty)
    }
}

/// Hears nothing: for links that are closed as soon as they come.
final class DeafLinkHandler: LinkHandler {
    func linkDidOpen(_ link: any Link) {}
    func link(_ link: any Link, didReceive frame: [UInt8]) {}
    func linkDidDrain(_ link: any Link) {}
    func link(_ link: any Link, didClose reason: LinkCloseReason) {}
}
