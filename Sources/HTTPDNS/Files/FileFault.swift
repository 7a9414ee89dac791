internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// An error of a file: its path and the system's text.
package struct FileFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { "\(path.escaped(limit: 200)): \(reason)" }

    init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    /// - Parameter number: The system's error number.
    init(_ path: String, _ number: Int32) { self.init(path, systemErrorText(number)) }
}

extension HTTPDNSClientError {
    /// Returns the error for a file of a request body that cannot be read.
    static func unreadable(_ fault: FileFault) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .requestBodyFailed,
            stage: .request,
            message: "the file of the request's body cannot be read: \(fault)",
            hint:
                "a body's file is a regular file that knows its length and may be read; for others use Request.Body.stream"
        )
        error.underlying = fault
        return error
    }

    /// Returns the error for a body that cannot be saved.
    static func unwritable(_ fault: FileFault, _ stage: Stage) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .fileFailed,
            stage: stage,
            message: "the body cannot be saved: \(fault)",
            hint: "the file's folder must be there, with room, and this process must be allowed to write it"
        )
        error.requestMayHaveBeenSent = stage == .body
        error.underlying = fault
        return error
    }
}
