// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import Glibc
internal import HTTPDNSPrimitives

extension HTTPDNSProxy {
    /// The address and the login of a proxy, before or while it serves.
    ///
    /// A socket on loopback listens as soon as the listener exists, so that a program can set its environment before it has a
    /// client, or any thread. Connections wait for the proxy.
    public final class Listener: Sendable {
        /// The address that it listens on.
        public let host = "127.0.0.1"
        /// The port, which the system has chosen.
        public let port: Int
        /// The user of the login.
        public var user: String { login.user }
        /// The password of the login, 128 random bits.
        public var password: String { login.password }

        let login: ProxyLogin
        private let descriptor: Lock<Int32>

        /// Opens the socket on a free port of 127.0.0.1.
        /// - Throws: ``HTTPDNSProxy/Error`` with code `systemError`.
        public convenience init() throws(HTTPDNSProxy.Error) { try self.init(ProxyLogin(user: "httpdns"), port: 0) }

        private init(_ login: ProxyLogin, port: UInt16) throws(HTTPDNSProxy.Error) {
            self.login = login
            do {
                let socket = try LoopbackSocket(port: port, backlog: 1024)
                self.port = Int(socket.port)
                descriptor = Lock(socket.descriptor)
            } catch {
                let place = port == 0 ? "127.0.0.1" : "127.0.0.1:\(port)"
                throw .system("the proxy cannot listen on \(place)", error.number)
            }
        }

        /// Opens the socket on a port of 127.0.0.1, with the given password.
        /// - Throws: ``HTTPDNSProxy/Error`` with code `systemError`.
        package convenience init(port: UInt16, password: String) throws(HTTPDNSProxy.Error) {
            try self.init(ProxyLogin(user: "httpdns", password: password), port: port)
        }

        deinit { if let socket = take() { close(socket) } }

        /// Returns the socket, once.
        func take() -> Int32? {
            let socket = descriptor.withLock { descriptor in
                defer { descriptor = -1 }
                return descriptor
            }
            return socket >= 0 ? socket : nil
        }

        /// The variables that lead the clients of a process through the proxy.
        ///
        /// URLSession and all that uses libcurl, such as curl and git, follow them for every URL; wget, Go and Python's urllib for
        /// `https:` alone. A child process has them too, unless it is given others, and loses its way when this process ends.
        public var environment: [String: String] {
            let login = "\(user):\(password)@\(host):\(port)"
            let (socks, http) = ("socks5h://\(login)", "http://\(login)")
            return ["all_proxy": socks, "ALL_PROXY": socks, "https_proxy": http, "HTTPS_PROXY": http]
        }

        /// The variables that lead programs to a proxy.
        package static let variables = ["all_proxy", "https_proxy", "http_proxy"].flatMap { [$0, $0.uppercased()] }

        /// Sets ``environment`` for this process, so that URLSession and all that uses libcurl or its variables goes through the
        /// proxy. Call it in the first lines of `main`: the environment may be changed only while there is no other thread.
        ///
        /// ```swift
        /// let listener = try HTTPDNSProxy.Listener()
        /// try listener.installForURLSession()
        /// let client = try await HTTPDNSClient()
        /// let proxy = try await HTTPDNSProxy(client, on: listener)
        /// ```
        ///
        /// The client's own requests do not go through it.
        /// - Parameter replacing: Whether variables that are already set, as for a proxy of the company, are replaced.
        /// - Throws: ``HTTPDNSProxy/Error`` with code `alreadySet`, or `tooLate` for a process with more than one thread.
        public func installForURLSession(replacing: Bool = false) throws(HTTPDNSProxy.Error) {
            let present = Listener.variables.filter { getenv($0) != nil }
            guard present.isEmpty || replacing else { throw .alreadySet(present) }
            guard Listener.threadCount == 1 else { throw .tooLate }
            for name in present { unsetenv(name) }
            for (name, value) in environment { setenv(name, value, 1) }
        }

        /// The number of threads of the process; 0 when it is not known.
        private static var threadCount: Int {
            guard let folder = opendir("/proc/self/task") else { return 0 }
            defer { closedir(folder) }
            var count = 0
            while let entry = readdir(folder) { if entry.pointee.d_name.0 != UInt8(ascii: ".") { count += 1 } }
            return count
        }
    }

    /// An error that prevented a proxy. Its description has one line.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of failure. More kinds may be added.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short identifier from a bounded set.
            public let description: String

            /// A system call failed. The message has the system's error text.
            public static let systemError = Code(description: "system-error")
            /// A variable for a proxy is already set in the environment.
            public static let alreadySet = Code(description: "already-set")
            /// The process has other threads, which may read the environment.
            public static let tooLate = Code(description: "too-late")
            /// The listener already serves another proxy, or is closed.
            public static let listenerInUse = Code(description: "listener-in-use")
            /// The client of the proxy goes through the proxy itself.
            public static let circle = Code(description: "circle")
        }

        /// The kind of failure.
        public var code: Code
        /// The failure.
        public var message: String
        /// The suggested action.
        public var hint: String?

        /// One line: message and hint.
        public var description: String { hint.map { "\(message) (\($0))" } ?? message }

        static func system(_ message: String, _ number: Int32) -> Error {
            Error(code: .systemError, message: "\(message): \(systemErrorText(number))")
        }

        fileprivate static func alreadySet(_ names: [String]) -> Error {
            Error(
                code: .alreadySet,
                message: "\(names.joined(separator: ", ")) is set, which leads through another proxy",
                hint: "unset it, or pass replacing: true"
            )
        }

        fileprivate static let tooLate = Error(
            code: .tooLate,
            message: "the environment cannot be changed, since the process has more than one thread",
            hint: "call installForURLSession() in the first lines of main"
        )

        static let circle = Error(
            code: .circle,
            message: "the client of the proxy goes through the proxy itself, by the variables of the environment",
            hint: "make the client with proxy = .off, or with a proxy of its own"
        )

        static let listenerInUse = Error(
            code: .listenerInUse,
            message: "the listener already serves another proxy",
            hint: "make a listener for each proxy"
        )
    }
}
#endif
