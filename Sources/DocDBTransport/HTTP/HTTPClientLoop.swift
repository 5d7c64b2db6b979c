import CCurl
import DocDBCore
import Synchronization

/// The one thread of the process that serves all HTTP requests to others.
final class HTTPClientLoop: @unchecked Sendable {
    typealias Completion = @Sendable (Result<HTTPResponse, DocDBError>) -> Void

    /// What other threads hand over; the lock is held for moments only.
    private struct Inbox {
        var beginning: [(HTTPTransfer, Completion)] = []
        var cancelled: [HTTPTransfer] = []
    }

    private let inbox = Lock(Inbox())
    private let multi: OpaquePointer
    // Of the loop's thread.
    private var transfers: [UnsafeMutableRawPointer: (HTTPTransfer, Completion)] = [:]

    private static let running = Lock<HTTPClientLoop?>(nil)
    /// The longest sleep while there is nothing to do, in milliseconds; being woken ends it.
    private static let idleMilliseconds: Int32 = 600_000
    private static let busyMilliseconds: Int32 = 1000

    /// The process's loop, which is started with the first request.
    static func shared() throws(DocDBError) -> HTTPClientLoop {
        let result = running.withLock { running -> Result<HTTPClientLoop, DocDBError> in
            if let running { return .success(running) }
            let started = Result { () throws(DocDBError) in try HTTPClientLoop() }
            running = try? started.get()
            return started
        }
        return try result.get()
    }

    private init() throws(DocDBError) {
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init() else {
            throw DocDBError(.connectionFailed, "libcurl does not start; memory may be short")
        }
        self.multi = OpaquePointer(multi)
        try BackgroundThread.start { [self] in run() }
    }

    func begin(_ transfer: HTTPTransfer, completion: @escaping Completion) {
        inbox.withLock { $0.beginning.append((transfer, completion)) }
        curl_multi_wakeup(pointer)
    }

    func cancel(_ transfer: HTTPTransfer) {
        inbox.withLock { $0.cancelled.append(transfer) }
        curl_multi_wakeup(pointer)
    }

    private var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(multi) }

    private func run() {
        var runningCount: Int32 = 0
        while true {
            drain()
            curl_multi_perform(pointer, &runningCount)
            takeEnded()
            let milliseconds = transfers.isEmpty ? Self.idleMilliseconds : Self.busyMilliseconds
            curl_multi_poll(pointer, nil, 0, milliseconds, nil)
        }
    }

    /// Begins and cancels what other threads asked for; a request may be cancelled before it began.
    private func drain() {
        let taken = inbox.withLock { inbox in
            defer { inbox = Inbox() }
            return inbox
        }
        for (transfer, completion) in taken.beginning {
            guard !transfer.isCancelled else {
                completion(.failure(Self.cancelled))
                continue
            }
            guard let easy = transfer.open() else {
                completion(
                    .failure(DocDBError(.connectionFailed, "libcurl takes no further request; memory may be short")))
                continue
            }
            transfers[easy] = (transfer, completion)
            curl_multi_add_handle(pointer, easy)
        }
        for transfer in taken.cancelled {
            transfer.isCancelled = true
            if let easy = transfer.easy { end(easy, .failure(Self.cancelled)) }
        }
    }

    private static let cancelled = DocDBError(.cancelled, "the HTTP request was cancelled")

    private func takeEnded() {
        var code = CURLE_OK
        while let easy = docdb_curl_next_ended(pointer, &code) {
            guard let (transfer, _) = transfers[easy] else { continue }
            end(easy, transfer.result(code))
        }
    }

    private func end(_ easy: UnsafeMutableRawPointer, _ result: Result<HTTPResponse, DocDBError>) {
        guard let (transfer, completion) = transfers.removeValue(forKey: easy) else { return }
        curl_multi_remove_handle(pointer, easy)
        transfer.close()
        completion(result)
    }
}
