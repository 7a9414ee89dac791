/// The executor on which a task resumes.
enum ResumptionTarget {
    /// Any thread of the runtime.
    case anyThread
    /// The executor of an actor, or a preferred one. Usually it need not wait for a thread of the runtime, which may all be
    /// busy. (A default actor's executor also uses those threads.)
    case ofItsOwn

    /// - Parameter actor: The caller's isolation.
    static func current(_ actor: (any Actor)?) -> ResumptionTarget {
        if actor != nil { return .ofItsOwn }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == nil ? .anyThread : .ofItsOwn
    }
}
