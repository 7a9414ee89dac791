// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSRecording {
    /// The error of a recording. An error during a call reaches the caller in `underlying` of an `HTTPDNSClientError` with
    /// code `interceptorFailed`.
    ///
    /// It prints as one line, which begins with the file.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of a failure. Compare with `==`; new versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short text from a bounded set.
            public let description: String

            /// The settings contradict each other.
            public static let configuration = Code(description: "configuration")
            /// The file cannot be read.
            public static let unreadable = Code(description: "unreadable")
            /// The file is no HAR log; the message has the position.
            public static let malformed = Code(description: "malformed")
            /// The file cannot be written.
            public static let unwritable = Code(description: "unwritable")
            /// The file has no response for a request.
            public static let notRecorded = Code(description: "not-recorded")
            /// The file has only the start of a body.
            public static let incompleteBody = Code(description: "incomplete-body")
        }

        /// The kind of failure.
        public let code: Code
        /// The path of the file; nil for settings.
        public let file: String?
        /// The message, without the file.
        public let message: String

        init(_ code: Code, _ message: String, file: String? = nil) {
            self.code = code
            self.file = file
            self.message = message
        }

        /// The file and the message, on one line.
        public var description: String { file.map { "\($0.escaped(limit: 200)): \(message)" } ?? message }

        static func malformed(_ file: String, _ reason: String) -> Error {
            Error(.malformed, "the file is no HAR log: \(reason)", file: file)
        }

        /// - Parameter hasOtherBody: Whether a response is recorded for another body.
        static func notRecorded(
            _ key: RecordingKey,
            in file: String,
            _ options: Options,
            hasOtherBody: Bool
        ) -> Error {
            let fields = options.matchedFields.map(\.rawName).joined(separator: ", ")
            return Error(
                .notRecorded,
                "no response is recorded for \(key.method) \(key.url.escaped(limit: 500))"
                    + (hasOtherBody ? " with this body" : "")
                    + (fields.isEmpty ? "" : " with these values of \(fields)")
                    + "; record it with the mode update"
                    + (hasOtherBody ? ", or set comparesBodies to false for a body that differs in each run" : ""),
                file: file
            )
        }
    }
}
