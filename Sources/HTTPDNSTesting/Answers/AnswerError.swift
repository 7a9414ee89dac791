// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSStubs {
    /// The error of an answer that cannot be made, such as one from a file that is not there.
    ///
    /// It prints as one line, which begins with the file and the line number where there are any.
    public struct AnswerError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of a failure. Compare with `==`; new versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short text from a bounded set.
            public let description: String

            /// A file or folder cannot be read.
            public static let unreadable = Code(description: "unreadable")
            /// The path of a folder leads to something else.
            public static let notFolder = Code(description: "not-folder")
            /// A captured response is no HTTP message.
            public static let malformedMessage = Code(description: "malformed-message")
            /// A file is not in Mocktail's format.
            public static let malformedMocktail = Code(description: "malformed-mocktail")
            /// A value cannot be encoded as JSON, or a text or a body is no JSON.
            public static let invalidJSON = Code(description: "invalid-json")
        }

        /// The kind of failure.
        public let code: Code
        /// The path of the file or folder; nil without one.
        public let file: String?
        /// The line in the file, or in the bytes of a message, from 1; nil when the failure is not in a line.
        public let line: Int?
        /// The message, without the file and the line.
        public let message: String

        init(_ code: Code, _ message: String, file: String? = nil, line: Int? = nil) {
            self.code = code
            self.file = file
            self.line = line
            self.message = message
        }

        /// The file, the line and the message, on one line.
        public var description: String {
            switch (file?.escaped(limit: 200), line) {
            case (let file?, let line?): "\(file):\(line): \(message)"
            case (let file?, nil): "\(file): \(message)"
            case (nil, let line?): "line \(line): \(message)"
            case (nil, nil): message
            }
        }

        /// Returns the error for a file that cannot be read.
        static func unreadable(_ fault: FileFault, _ path: String) -> AnswerError {
            AnswerError(.unreadable, "it cannot be read: \(fault.reason)", file: path)
        }
    }
}
