/* What programs call that is not part of the ABI: functions that MPI has removed, and integers of Fortran for
   handles. They are functions of this header alone, over those of the library; included by mpi.h. A name that
   is a macro already is left alone. */
#ifndef WEFT_MPI_OLDER_H
#define WEFT_MPI_OLDER_H

/* clang-format off */

typedef MPI_Comm_errhandler_function MPI_Handler_function;

/* Bounds among the datatypes of a struct. The ABI leaves these numbers to libraries: only this one knows them. */
#ifndef MPI_LB
#define MPI_LB ((MPI_Datatype)0x3fe)
#endif
#ifndef MPI_UB
#define MPI_UB ((MPI_Datatype)0x3ff)
#endif

/* How datatypes were made by constructors of Fortran that MPI has removed: no datatype answers so. */
#ifndef MPI_COMBINER_HVECTOR_INTEGER
#define MPI_COMBINER_HVECTOR_INTEGER 97
#endif
#ifndef MPI_COMBINER_HINDEXED_INTEGER
#define MPI_COMBINER_HINDEXED_INTEGER 98
#endif
#ifndef MPI_COMBINER_STRUCT_INTEGER
#define MPI_COMBINER_STRUCT_INTEGER 99
#endif

/* Names without their first letter, M: both forms are made. */
#define WEFT_MPI_OLDER(name, arguments, body) \
  static __inline int M##name arguments { return M##body; } \
  static __inline int PM##name arguments { return PM##body; }
#ifndef MPI_Address
WEFT_MPI_OLDER(PI_Address, (void* location, MPI_Aint* address), PI_Get_address(location, address))
#endif
#ifndef MPI_Errhandler_create
WEFT_MPI_OLDER(PI_Errhandler_create, (MPI_Handler_function* function, MPI_Errhandler* errhandler), PI_Comm_create_errhandler(function, errhandler))
#endif
#ifndef MPI_Errhandler_get
WEFT_MPI_OLDER(PI_Errhandler_get, (MPI_Comm comm, MPI_Errhandler* errhandler), PI_Comm_get_errhandler(comm, errhandler))
#endif
#ifndef MPI_Errhandler_set
WEFT_MPI_OLDER(PI_Errhandler_set, (MPI_Comm comm, MPI_Errhandler errhandler), PI_Comm_set_errhandler(comm, errhandler))
#endif
#ifndef MPI_Type_hvector
WEFT_MPI_OLDER(PI_Type_hvector, (int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made), PI_Type_create_hvector(count, length, stride, old, made))
#endif
#ifndef MPI_Type_hindexed
WEFT_MPI_OLDER(PI_Type_hindexed, (int count, int* lengths, MPI_Aint* displacements, MPI_Datatype old, MPI_Datatype* made), PI_Type_create_hindexed(count, lengths, displacements, old, made))
#endif
#ifndef MPI_Type_struct
WEFT_MPI_OLDER(PI_Type_struct, (int count, int* lengths, MPI_Aint* displacements, MPI_Datatype* old, MPI_Datatype* made), PI_Type_create_struct(count, lengths, displacements, old, made))
#endif
/* What MPI 4.1 calls MPI_Remove_error_... */
#ifndef MPIX_Delete_error_class
WEFT_MPI_OLDER(PIX_Delete_error_class, (int error_class), PI_Remove_error_class(error_class))
#endif
#ifndef MPIX_Delete_error_code
WEFT_MPI_OLDER(PIX_Delete_error_code, (int code), PI_Remove_error_code(code))
#endif
#ifndef MPIX_Delete_error_string
WEFT_MPI_OLDER(PIX_Delete_error_string, (int code), PI_Remove_error_string(code))
#endif
#undef WEFT_MPI_OLDER

/* Where the result goes is checked by the call. */
#define WEFT_MPI_OLDER(prefix, name, lower, extent, statement) \
  static __inline int prefix##_Type_##name(MPI_Datatype type, MPI_Aint* result) { \
    MPI_Aint other = 0; \
    const int code = prefix##_Type_get_extent(type, lower, extent); \
    if (code == MPI_SUCCESS) statement; \
    return code; \
  }
#ifndef MPI_Type_extent
WEFT_MPI_OLDER(MPI, extent, &other, result, (void)other)
WEFT_MPI_OLDER(PMPI, extent, &other, result, (void)other)
#endif
#ifndef MPI_Type_lb
WEFT_MPI_OLDER(MPI, lb, result, &other, (void)other)
WEFT_MPI_OLDER(PMPI, lb, result, &other, (void)other)
#endif
#ifndef MPI_Type_ub
WEFT_MPI_OLDER(MPI, ub, result, &other, *result += other)
WEFT_MPI_OLDER(PMPI, ub, result, &other, *result += other)
#endif
#undef WEFT_MPI_OLDER

/* An integer of Fortran, and what a program passes there for a status that it does not want. */
#ifndef MPI_Fint
typedef int MPI_Fint;
#endif
#ifndef MPI_F_STATUS_IGNORE
#define MPI_F_STATUS_IGNORE ((MPI_Fint*)0)
#endif
#ifndef MPI_F_STATUSES_IGNORE
#define MPI_F_STATUSES_IGNORE ((MPI_Fint*)0)
#endif

#define WEFT_MPI_NUMBERS(type, kind) \
  static __inline MPI_Fint MPI_##kind##_c2f(type handle) { return MPI_##kind##_toint(handle); } \
  static __inline MPI_Fint PMPI_##kind##_c2f(type handle) { return PMPI_##kind##_toint(handle); } \
  static __inline type MPI_##kind##_f2c(MPI_Fint number) { return MPI_##kind##_fromint(number); } \
  static __inline type PMPI_##kind##_f2c(MPI_Fint number) { return PMPI_##kind##_fromint(number); }
#if !defined(MPI_Comm_c2f) && !defined(MPI_Comm_f2c)
WEFT_MPI_NUMBERS(MPI_Comm, Comm)
#endif
#if !defined(MPI_Type_c2f) && !defined(MPI_Type_f2c)
WEFT_MPI_NUMBERS(MPI_Datatype, Type)
#endif
#if !defined(MPI_Errhandler_c2f) && !defined(MPI_Errhandler_f2c)
WEFT_MPI_NUMBERS(MPI_Errhandler, Errhandler)
#endif
#if !defined(MPI_File_c2f) && !defined(MPI_File_f2c)
WEFT_MPI_NUMBERS(MPI_File, File)
#endif
#if !defined(MPI_Group_c2f) && !defined(MPI_Group_f2c)
WEFT_MPI_NUMBERS(MPI_Group, Group)
#endif
#if !defined(MPI_Info_c2f) && !defined(MPI_Info_f2c)
WEFT_MPI_NUMBERS(MPI_Info, Info)
#endif
#if !defined(MPI_Message_c2f) && !defined(MPI_Message_f2c)
WEFT_MPI_NUMBERS(MPI_Message, Message)
#endif
#if !defined(MPI_Op_c2f) && !defined(MPI_Op_f2c)
WEFT_MPI_NUMBERS(MPI_Op, Op)
#endif
#if !defined(MPI_Request_c2f) && !defined(MPI_Request_f2c)
WEFT_MPI_NUMBERS(MPI_Request, Request)
#endif
#if !defined(MPI_Session_c2f) && !defined(MPI_Session_f2c)
WEFT_MPI_NUMBERS(MPI_Session, Session)
#endif
#if !defined(MPI_Win_c2f) && !defined(MPI_Win_f2c)
WEFT_MPI_NUMBERS(MPI_Win, Win)
#endif
#undef WEFT_MPI_NUMBERS

/* A status is as many integers in both languages. */
#define WEFT_MPI_STATUS(name, from_type, from, to_type, to) \
  static __inline int name(const from_type* from, to_type* to) { \
    const void* const source = from; \
    void* const target = to; \
    int i; \
    for (i = 0; i < MPI_F_STATUS_SIZE; ++i) ((int*)target)[i] = ((const int*)source)[i]; \
    return MPI_SUCCESS; \
  }
#if !defined(MPI_Status_c2f) && !defined(MPI_Status_f2c)
WEFT_MPI_STATUS(MPI_Status_c2f, MPI_Status, status, MPI_Fint, numbers)
WEFT_MPI_STATUS(PMPI_Status_c2f, MPI_Status, status, MPI_Fint, numbers)
WEFT_MPI_STATUS(MPI_Status_f2c, MPI_Fint, numbers, MPI_Status, status)
WEFT_MPI_STATUS(PMPI_Status_f2c, MPI_Fint, numbers, MPI_Status, status)
#endif
#undef WEFT_MPI_STATUS

/* clang-format on */

#endif
