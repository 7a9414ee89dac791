// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Dispatch
internal import Foundation

/// Cleans up on Ctrl-C and on SIGTERM, then ends the process.
final class Interrupt {
    private let sources: [any DispatchSourceSignal]

    init(_ cleanUp: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                cleanUp()
                // As a shell reports a process that a signal ended.
                exit(128 + number)
            }
            source.resume()
            return source
        }
    }

    func disarm() {
        for source in sources { source.cancel() }
    }
}
