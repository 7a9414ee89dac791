// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Logging

extension HTTPDNSClient.Configuration {
    /// The rule that decides whether a client has cookies, and where they are kept.
    public struct Cookies: Hashable, Sendable, CustomStringConvertible {
        enum Content: Hashable, Sendable {
            case off
            case memory(HTTPDNSClient.CookieJar.Limits)
            case file(String, HTTPDNSClient.CookieJar.Limits)
            case jar(SharedJar)
        }

        /// A jar, which is equal to itself alone.
        struct SharedJar: Hashable, Sendable {
            let jar: HTTPDNSClient.CookieJar

            static func == (left: SharedJar, right: SharedJar) -> Bool { left.jar === right.jar }
            func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(jar)) }
        }

        let content: Content

        /// No cookies: `Set-Cookie` fields have no effect. This is the default.
        public static let off = Cookies(content: .off)

        /// Returns the rule for a jar of the client's own, which ends with the client.
        public static func memory(
            _ limits: HTTPDNSClient.CookieJar.Limits = HTTPDNSClient.CookieJar.Limits()
        ) -> Cookies {
            Cookies(content: .memory(limits))
        }

        /// Returns the rule for a jar of the client's own with a file, as
        /// ``HTTPDNSClient/CookieJar/init(file:limits:logger:)`` makes it. The initializer of the client reads the file,
        /// and its shutdown writes it.
        public static func file(
            _ path: String,
            _ limits: HTTPDNSClient.CookieJar.Limits = HTTPDNSClient.CookieJar.Limits()
        ) -> Cookies {
            Cookies(content: .file(path, limits))
        }

        /// Returns the rule for a jar that the program keeps, and that several clients may share.
        public static func jar(_ jar: HTTPDNSClient.CookieJar) -> Cookies {
            Cookies(content: .jar(SharedJar(jar: jar)))
        }

        /// `off`, `memory`, `file` or `jar`.
        public var description: String {
            switch content {
            case .off: "off"
            case .memory: "memory"
            case .file: "file"
            case .jar: "jar"
            }
        }

        /// The same rule for a program that must not touch the file of a service.
        package var withoutFile: Cookies {
            if case .file(_, let limits) = content { .memory(limits) } else { self }
        }

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate() throws(HTTPDNSClientError) {
            let limits: HTTPDNSClient.CookieJar.Limits
            switch content {
            case .off, .jar: return
            case .memory(let given): limits = given
            case .file(let path, let given):
                limits = given
                if path.isEmpty { throw .configuration("cookies has a file without a path", hint: "name a file") }
            }
            let range = HTTPDNSClient.CookieJar.Limits.range
            for (name, number) in [("maximumPerDomain", limits.maximumPerDomain), ("maximum", limits.maximum)]
            where !range.contains(number) {
                throw .configuration(
                    "cookies: \(name) is \(number)",
                    hint: "set it to \(range.lowerBound) to \(range.upperBound)"
                )
            }
        }

        /// Returns the jar of a client with these settings; nil without cookies. A file is not read yet.
        func makeJar(_ configuration: HTTPDNSClient.Configuration) -> HTTPDNSClient.CookieJar? {
            let (limits, path): (HTTPDNSClient.CookieJar.Limits, String?)
            switch content {
            case .off: return nil
            case .jar(let shared): return shared.jar
            case .memory(let given): (limits, path) = (given, nil)
            case .file(let file, let given): (limits, path) = (given, file)
            }
            return HTTPDNSClient.CookieJar(
                limits: limits,
                file: path,
                wallClock: configuration.wallClock,
                time: configuration.resolver.timeSource,
                logger: configuration.logger
            )
        }
    }
}
