// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Dispatch
internal import Glibc

/// A running dispatch source that any owner may end.
///
/// Sharing is safe: after `init` only `cancel` is called on it, which may be called from any thread
/// (dispatch_source_create(3)). Dispatch's own types are not marked as Sendable.
final class RunningSource: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    private init(_ source: any DispatchSourceProtocol, calling handler: @escaping @Sendable () -> Void) {
        self.source = source
        source.setEventHandler(handler: DispatchWorkItem(block: handler))
    }

    /// Calls `handler` whenever there are bytes to read.
    /// - Parameter close: Called once, after the last call of `handler`, to close the descriptor.
    static func reading(
        _ descriptor: Int32,
        _ handler: @escaping @Sendable () -> Void,
        close: @escaping @Sendable () -> Void
    ) -> RunningSource {
        let queue = DispatchQueue(label: "httpdns.configuration.events")
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setCancelHandler(handler: DispatchWorkItem(block: close))
        let running = RunningSource(source, calling: handler)
        source.resume()
        return running
    }

    /// Calls `handler` whenever the process receives a signal.
    static func signal(_ number: Int32, _ handler: @escaping @Sendable () -> Void) -> RunningSource {
        let queue = DispatchQueue(label: "httpdns.configuration.signals")
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        let running = RunningSource(source, calling: handler)
        source.resume()
        return running
    }

    /// Ends its calls, without waiting for a running one. Idempotent.
    func cancel() { source.cancel() }

    deinit { cancel() }
}

/// A handler for SIGHUP. While it exists, the signal does not end the process.
final class HangUpSignal: Sendable {
    private let source: RunningSource

    init(_ handler: @escaping @Sendable () -> Void) {
        source = RunningSource.signal(SIGHUP, handler)
    }

    /// Ends the calls. Idempotent.
    func end() { source.cancel() }
}
