// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSClient {
    /// A set of interceptors that can change at run time.
    ///
    /// Each client has one (``HTTPDNSClient/interceptors``), which begins with the interceptors of its configuration. Another
    /// one, ``Configuration/processInterceptors``, holds those for several clients. The one of the whole process is ``shared``,
    /// which no client uses unless its configuration says so:
    ///
    /// ```swift
    /// configuration.processInterceptors = .shared
    /// let registration = HTTPDNSClient.InterceptorRegistry.shared.addApplicationInterceptor(UploadMark())
    /// // Existing and later clients with this setting use it, from their next call on.
    /// registration.remove()
    /// ```
    ///
    /// A call uses the interceptors that are registered when it begins, until it ends: a change concerns later calls only.
    /// The interceptors of the process are outside those of the client, and these outside those of the request
    /// (``Request/applicationInterceptors``). Among those of one registry the highest ``Interceptor/priority`` is
    /// outermost, and among equals the one that was added first.
    ///
    /// It is safe to use from any task or thread.
    public final class InterceptorRegistry: Sendable {
        /// The registry of the whole process, for clients whose ``Configuration/processInterceptors`` is this one.
        public static let shared = InterceptorRegistry()

        private struct State {
            var chain = InterceptorChain()
            var isEnabled = true
        }

        private static let lastNumber = Atomic<UInt64>(0)

        private let state: Lock<State>
        /// Whether calls have something to read in ``state``: nearly none do, and the others do not take the lock.
        private let isUsed: Atomic<Bool>

        /// Creates a registry without interceptors.
        public convenience init() { self.init(application: [], network: []) }

        init(application: [any HTTPDNSClient.Interceptor], network: [any HTTPDNSClient.Interceptor]) {
            var state = State()
            for interceptor in application { state.chain.application.add(Self.numbered(interceptor)) }
            for interceptor in network { state.chain.network.add(Self.numbered(interceptor)) }
            isUsed = Atomic(!state.chain.isEmpty)
            self.state = Lock(state)
        }

        /// Whether the interceptors are used. When false, later calls pass none of them; none is removed.
        public var isEnabled: Bool {
            get { state.withLock { $0.isEnabled } }
            set { change { $0.isEnabled = newValue } }
        }

        /// Adds an interceptor that runs once per call.
        /// - Returns: The handle by which it is removed.
        @discardableResult
        public func addApplicationInterceptor(_ interceptor: any HTTPDNSClient.Interceptor) -> Registration {
            add(interceptor) { $0.application.add($1) }
        }

        /// Adds an interceptor that runs once per hop.
        /// - Returns: The handle by which it is removed.
        @discardableResult
        public func addNetworkInterceptor(_ interceptor: any HTTPDNSClient.Interceptor) -> Registration {
            add(interceptor) { $0.network.add($1) }
        }

        /// A handle of one added interceptor. Releasing the handle does not remove the interceptor.
        public struct Registration: Sendable {
            fileprivate let registry: InterceptorRegistry
            fileprivate let number: UInt64

            /// Removes the interceptor. Calls in progress still use it. A second removal does nothing.
            public func remove() { registry.remove(number) }
        }

        /// Whether a call has to read ``chain``.
        var isInUse: Bool { isUsed.load(ordering: .acquiring) }

        /// The interceptors in use, in their order.
        var chain: InterceptorChain {
            guard isInUse else { return InterceptorChain() }
            return state.withLock { $0.isEnabled ? $0.chain : InterceptorChain() }
        }

        private func add(
            _ interceptor: any HTTPDNSClient.Interceptor,
            to chain: @Sendable (inout InterceptorChain, InterceptorEntry) -> Void
        ) -> Registration {
            // The predicate and the priority are code of others, which must not run under the lock.
            let entry = Self.numbered(interceptor)
            change { state in chain(&state.chain, entry) }
            return Registration(registry: self, number: entry.number)
        }

        private static func numbered(_ interceptor: any HTTPDNSClient.Interceptor) -> InterceptorEntry {
            InterceptorEntry(interceptor, number: lastNumber.wrappingAdd(1, ordering: .relaxed).newValue)
        }

        private func remove(_ number: UInt64) {
            change { state in
                state.chain.application.removeAll { $0.number == number }
                state.chain.network.removeAll { $0.number == number }
            }
        }

        private func change<Result: Sendable>(_ change: @Sendable (inout State) -> Result) -> Result {
            // A removed interceptor may be released here for the last time.
            state.change { state in
                let result = change(&state)
                isUsed.store(state.isEnabled && !state.chain.isEmpty, ordering: .releasing)
                return result
            }
        }
    }
}

/// An interceptor with what is read of it once, when it is added. It is a reference, because each hop holds its entry.
final class InterceptorEntry: Sendable {
    let interceptor: any HTTPDNSClient.Interceptor
    let predicate: HTTPDNSClient.RequestPredicate?
    /// The predicate as far as the head of a request decides; nil without a predicate.
    let headTest: (@Sendable (HTTPDNSClient.Request, ReceivedURL) -> Bool?)?
    let priority: Int
    /// Its number, unique in the process; 0 outside a registry.
    let number: UInt64

    init(_ interceptor: any HTTPDNSClient.Interceptor, number: UInt64 = 0) {
        self.number = number
        self.interceptor = interceptor
        let predicate = interceptor.predicate
        self.predicate = predicate
        headTest = predicate?.headTest
        priority = interceptor.priority
    }

    /// The name for errors, without any value of the interceptor.
    var name: String { String(describing: type(of: interceptor)) }
}

/// The interceptors of a call, outermost first.
struct InterceptorChain: Sendable {
    /// Those that run once per call.
    var application: [InterceptorEntry] = []
    /// Those that run once per hop.
    var network: [InterceptorEntry] = []

    var isEmpty: Bool { application.isEmpty && network.isEmpty }

    /// Adds the interceptors of the next narrower scope.
    mutating func append(_ inner: InterceptorChain) {
        application = application.isEmpty ? inner.application : application + inner.application
        network = network.isEmpty ? inner.network : network + inner.network
    }
}

extension [InterceptorEntry] {
    /// Inserts an interceptor after all others of its priority and of higher ones.
    mutating func add(_ entry: InterceptorEntry) {
        insert(entry, at: firstIndex { $0.priority < entry.priority } ?? endIndex)
    }

    /// The result of ``search(from:for:)``.
    enum SearchResult {
        /// The place of the interceptor that the request passes next.
        case found(Int)
        /// The place of an interceptor whose predicate has to read the body or to run a closure.
        case undecided(Int)
        /// The request passes none.
        case none
    }

    /// Returns the first interceptor from `index` on whose predicate the request fulfills, as far as its head says so. Most
    /// predicates ask for no more, and the request is not copied for them.
    /// - Parameter url: The URL of the request.
    func search(from index: Int, for request: HTTPDNSClient.Request, at url: ReceivedURL) -> SearchResult {
        var index = index
        while index < count {
            guard let test = self[index].headTest else { return .found(index) }
            guard let isFulfilled = test(request, url) else { return .undecided(index) }
            if isFulfilled { return .found(index) }
            index += 1
        }
        return .none
    }

    /// Returns the place of the first interceptor from `index` on whose predicate the request fulfills; nil when there is none.
    func first(from index: Int, for request: inout HTTPDNSClient.Request) async throws -> Int? {
        var index = index
        while index < count {
            guard let predicate = self[index].predicate else { return index }
            if try await predicate.matches(&request) { return index }
            index += 1
        }
        return nil
    }
}
