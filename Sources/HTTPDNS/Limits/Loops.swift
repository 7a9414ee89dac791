// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

extension HTTPDNSClient.Configuration.Connections {
    /// The maximum number of loops, from 1 to 64: the threads that send requests and receive responses.
    ///
    /// Two loops that are busy do more than one, and cost a little more for each request: each has connections, parsed
    /// authorities and timers of its own.
    public struct Loops: Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
        /// The permitted numbers.
        package static let range = 1...64

        private enum Kind: Hashable {
            case automatic
            case count(Int)
            case inTurn(Int)
        }

        private let kind: Kind

        /// One loop for each processor core that this process may use (`sched_getaffinity`), at most 4.
        public static let automatic = Loops(.automatic)
        /// A number of loops, from 1 to 64.
        public static func count(_ count: Int) -> Loops { Loops(.count(count)) }

        /// A number of loops that requests go to in turn, whatever the loops do. It is for tests of what must hold on any loop.
        package static func inTurn(_ count: Int) -> Loops { Loops(.inTurn(count)) }

        private init(_ kind: Kind) { self.kind = kind }

        /// Creates a number of loops, from 1 to 64.
        public init(integerLiteral value: Int) { self.init(.count(value)) }

        /// The value in the configuration file.
        public var description: String {
            switch kind {
            case .automatic: "automatic"
            case .count(let count), .inTurn(let count): "\(count)"
            }
        }

        /// The number of loops.
        var count: Int {
            switch kind {
            case .automatic: min(ProcessorCores.usable, 4)
            case .count(let count), .inTurn(let count): min(max(count, Loops.range.lowerBound), Loops.range.upperBound)
            }
        }

        /// Whether requests go to the loops in turn.
        var areTakenInTurn: Bool {
            if case .inTurn = kind { true } else { false }
        }

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate() throws(HTTPDNSClientError) {
            guard case .count(let count) = kind, !Loops.range.contains(count) else { return }
            throw .configuration(
                "connections.loops is \(count)",
                hint: "use 1 to 64, or .automatic for one loop for each processor core, at most 4"
            )
        }
    }
}
