// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import HTTPDNSCore
import HTTPDNSPrimitives
import HTTPDNSTesting

/// A file that exists in a test alone, with its events.
final class ScriptedFile: WatchedFile {
    private struct State {
        var content: [UInt8]?
        var sight: FileStatus
        var number = 1
        var isTold = true
        var events: [FileEvent] = []
        var wake: (@Sendable () -> Void)?
        var looks = 0
        var reads = 0
        var hasEnded = false
    }

    private let state: Lock<State>

    init(_ text: String) { state = Lock(State(content: Array(text.utf8), sight: .version(1))) }

    /// The file as it is now, for a watcher that begins.
    var reading: WatchedFileReading { state.withLock { WatchedFileReading(bytes: $0.content ?? [], sight: $0.sight) } }
    var looks: Int { state.withLock { $0.looks } }
    var reads: Int { state.withLock { $0.reads } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Puts another content in place; nil for none.
    func set(_ text: String?, telling event: FileEvent? = .replaced) {
        let wake = state.withLock { state in
            state.number += 1
            state.content = text.map { Array($0.utf8) }
            state.sight = text == nil ? .absent(2) : .version(state.number)
            state.events += [event].compactMap(\.self)
            return event == nil ? nil : state.wake
        }
        wake?()
    }

    func tellNothing() { state.withLock { $0.isTold = false } }

    func begin(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func look() -> FileLook {
        state.withLock { state in
            defer { (state.events, state.looks) = ([], state.looks + 1) }
            return FileLook(state.sight, events: state.events, hasEvents: state.isTold)
        }
    }

    func end() async { state.withLock { ($0.hasEnded, $0.wake) = (true, nil) } }

    func read() throws(HTTPDNSConfigurationFileError) -> WatchedFileReading {
        let (content, sight) = state.withLock { state in
            state.reads += 1
            return (state.content, state.sight)
        }
        guard let content else { throw Self.missing }
        return WatchedFileReading(bytes: content, sight: sight)
    }

    /// The error about a file that is not there.
    private static var missing: HTTPDNSConfigurationFileError {
        do {
            _ = try LocalFile("/nowhere/f").read()
            preconditionFailure("there is a file /nowhere/f")
        } catch {
            return error
        }
    }
}

/// What a watcher reports, as words, one after the other.
final class ReportList: Sendable {
    private let words: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let unread = Lock(0)

    var isEmpty: Bool { unread.withLock { $0 == 0 } }

    init() { (words, continuation) = AsyncStream.makeStream(of: String.self) }

    func note(_ report: ConfigurationWatcher<String>.Report) {
        unread.withLock { $0 += 1 }
        switch report {
        case .applied(let text): continuation.yield("applied \(text)")
        case .unchanged: continuation.yield("unchanged")
        case .failed(let error): continuation.yield("failed \(error)")
        case .warning(let error): continuation.yield("warning \(error)")
        case .recovered: continuation.yield("recovered")
        case .polling: continuation.yield("polling")
        }
    }

    /// The next reports, as soon as there are so many.
    func next(_ count: Int = 1) async -> [String] {
        var list: [String] = []
        for await word in words.prefix(count) { list.append(word) }
        unread.withLock { $0 -= list.count }
        return list
    }
}
