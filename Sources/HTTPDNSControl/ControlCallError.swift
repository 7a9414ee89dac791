// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// An error of a request to a service.
package struct ControlCallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure as a short identifier.
    package enum Code: String, Sendable {
        case invalidPath = "invalid-path"
        case noSocket = "no-socket"
        case notSocket = "not-a-socket"
        case notPermitted = "not-permitted"
        case noListener = "no-listener"
        case connectionLost = "connection-lost"
        case notUnderstood = "not-understood"
        /// The service refused the request; ``ControlCallError/fault`` has its code.
        case refused
        case systemError = "system-error"
    }

    package var code: Code
    package var message: String
    package var hint: String?
    /// The code of the service's fault.
    package var fault: String?

    /// One line: message and hint.
    package var description: String { hint.map { "\(message) (\($0))" } ?? message }

    /// Whether the path itself is wrong, regardless of the service.
    package var isUsage: Bool { code == .invalidPath || code == .notSocket }

    static func invalidPath(_ path: String, limit: Int) -> ControlCallError {
        ControlCallError(
            code: .invalidPath,
            message:
                "\"\(path.escaped(limit: 200))\" cannot be the path of a socket: it is empty, longer than \(limit) bytes, or has a NUL in it",
            hint: "give the control socket of a running service"
        )
    }

    static func notSocket(_ path: String) -> ControlCallError {
        ControlCallError(
            code: .notSocket,
            message: "\(path) is not a socket",
            hint: "give the control socket of a running service"
        )
    }

    static func unreachable(_ path: String, _ number: Int32) -> ControlCallError {
        switch number {
        case ENOENT, ENOTDIR:
            ControlCallError(
                code: .noSocket,
                message: "there is no socket \(path)",
                hint: "the service does not run, or it opened no HTTPDNSControlSocket there"
            )
        case EACCES, EPERM:
            ControlCallError(
                code: .notPermitted,
                message: "\(path) cannot be opened: permission denied",
                hint: "run as the service's user, or as root"
            )
        case ECONNREFUSED:
            ControlCallError(
                code: .noListener,
                message: "no process listens on \(path)",
                hint: "the service that created it has ended; the next one replaces it"
            )
        default:
            ControlCallError(code: .systemError, message: "\(path): \(SystemErrorNumber(number))")
        }
    }

    static func lost(_ path: String) -> ControlCallError {
        ControlCallError(
            code: .connectionLost,
            message: "the service behind \(path) closed the connection",
            hint: "it has ended, or its replies were read too slowly"
        )
    }

    static func notUnderstood(_ path: String) -> ControlCallError {
        ControlCallError(
            code: .notUnderstood,
            message: "the process that listens on \(path) does not speak the control protocol",
            hint: "use the resolve-test of the service's release"
        )
    }

    static func refused(_ fault: ControlFault, _ path: String) -> ControlCallError {
        ControlCallError(
            code: .refused,
            message: "the service behind \(path) refused: \(fault.message)",
            hint: fault.hint,
            fault: fault.code.rawValue
        )
    }
}
