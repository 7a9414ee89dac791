// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable internal import HTTPDNSControl
@testable internal import HTTPDNSPrimitives

extension FuzzTarget {
    /// Lines to the control socket: each by itself, and the octets as a connection that gets them in two pieces.
    static let controlRequest = FuzzTarget(name: "control-request") { octets in
        for line in octets.split(separator: UInt8(ascii: "\n")) {
            do throws(ControlFault) {
                let request = try ControlRequest(line: Array(line))
                // What is read can be written, and means the same then.
                precondition((try? ControlRequest(line: request.line.dropLast())) == request)
            } catch {
                precondition(error.message.unicodeScalars.allSatisfy { $0 != "\n" && $0 != "\r" && $0.value != 0 })
                precondition(error.message.unicodeScalars.count < 400, "a fault is one short line")
            }
        }
        let now = MonotonicTime(nanoseconds: 0)
        for cut in [0, octets.count / 2, octets.count] {
            var connection = ControlConnection(at: now)
            var waiting = connection.received(octets[..<cut], at: now) + connection.received(octets[cut...], at: now)
            waiting += connection.inputEnded(at: now)
            var performed = 0
            while let action = waiting.first {
                waiting.removeFirst()
                guard case .perform(let request) = action else { continue }
                performed += 1
                waiting += connection.performed(request, at: now)
            }
            precondition(performed <= octets.count { $0 == UInt8(ascii: "\n") } + 1)
            let rest = connection.wrote(connection.pendingOutput.count, at: now)
            precondition(connection.pendingOutput.isEmpty)
            precondition(rest.isEmpty || rest == [.close])
        }
    }
}
