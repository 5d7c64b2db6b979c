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
    }

    private struct State {
        var items: [Item] = []
        var byteCount = 0
        var isScheduled = false
        var isPaused = false
    }

    /// What a frame costs beside its bytes, lest empty ones cost nothing.
    private static let frameOverheadByteCount = 64

    private let state = Lock(State())
    /// Schedules a call of `take`.
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func linkDidOpen(_ link: any Link) { add(.opened, byteCount: 0, link) }
    func link(_ link: any Link, didReceive frame: [UInt8]) {
        add(.frame(frame), byteCount: frame.count + Self.frameOverheadByteCount, link)
    }
    func linkDidDrain(_ link: any Link) { add(.drained, byteCount: 0, link) }
    func link(_ link: any Link, didClose reason: LinkCloseReason) { add(.closed(reason), byteCount: 0, link) }

    private func add(_ item: Item, byteCount: Int, _ link: any Link) {
        let (mustWake, mustPause) = state.withLock { state -> (Bool, Bool) in
            state.items.append(item)
            state.byteCount += byteCount
            let mustWake = !state.isScheduled
            let mustPause = !state.isPaused && state.byteCount > ReplicationLimits.inboxByteCount
            state.isScheduled = true
            state.isPaused = state.isPaused || mustPause
            return (mustWake, mustPause)
        }
        if mustPause { link.setReceiving(false) }
        if mustWake { wake() }
    }

    /// Takes all that has come, and lets a link that had to wait go on.
    func take(_ link: any Link) -> [Item] {
        let (items, mustResume) = state.withLock { state -> ([Item], Bool) in
            defer {
                state.items = []
                state.byteCount = 0
                state.isScheduled = false
                state.isPaused = false
            }
            return (state.items, state.isPaused)
        }
        if mustResume { link.setReceiving(true) }
        return items
    }
}

/// Hears nothing: for links that are closed as soon as they come.
final class DeafLinkHandler: LinkHandler {
    func linkDidOpen(_ link: any Link) {}
    func link(_ link: any Link, didReceive frame: [UInt8]) {}
    func linkDidDrain(_ link: any Link) {}
    func link(_ link: any Link, didClose reason: LinkCloseReason) {}
}
